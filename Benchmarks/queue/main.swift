import EventLoop
import Glibc
import Magpie
import Postgres

// queue-benchmark CONCURRENCY JOBS: runs that many empty jobs of kind `empty`, which are in the queue of DATABASE_URL already,
// with one worker on one loop, and prints the seconds from its first claim to its last completion.

/// Does nothing, well.
struct Empty: JobHandler {
  let kind = "empty"
  func run(_ job: RunningJob) async throws -> JobResult { .done }
}

guard CommandLine.arguments.count == 3, let concurrency = Int(CommandLine.arguments[1]),
  let jobs = Int(CommandLine.arguments[2]), let url = getenv("DATABASE_URL").map({ String(cString: $0) })
else {
  print("usage: DATABASE_URL=… queue-benchmark CONCURRENCY JOBS")
  exit(64)
}
let group = try EventLoopGroup(count: 1)
let seconds = try await group.loops[0].run {
  let database = try Database(
    Database.Configuration(connectionString: url, role: "magpie_worker"), group: group)
  try await database.start()
  var configuration = Worker.Configuration()
  configuration.concurrency = concurrency
  let worker = Worker(database: database, loops: group, handlers: [Empty()], configuration: configuration)
  let start = System.monotonicNanoseconds()
  worker.start()
  while worker.metrics.completed < jobs {
    if System.monotonicNanoseconds() - start > 120_000_000_000 { throw CancellationError() }
    try await EventLoop.current?.sleep(for: .milliseconds(1))
  }
  let seconds = Double(System.monotonicNanoseconds() - start) / 1e9
  await worker.drain(deadline: .seconds(1))
  await database.stop()
  return seconds
}
print(seconds)
group.stop()
