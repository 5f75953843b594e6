import Magpie
import MagpieAPI

/// What the admin listener says of open streams.
enum StreamMetrics {
  static func of(_ hub: StreamHub) -> [Health.Metric] {
    let counts = hub.counts
    return [
      Health.Metric("magpie_streams", .gauge, "Event streams open now.", value: Double(counts.open)),
      Health.Metric("magpie_stream_events_total", .counter, "Events sent on streams.", value: Double(counts.sent)),
      Health.Metric(
        "magpie_streams_too_slow_total", .counter, "Streams cut because the client did not take its events.",
        value: Double(counts.slow)),
    ]
  }
}
