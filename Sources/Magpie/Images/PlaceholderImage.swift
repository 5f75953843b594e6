import CZlib
import EventLoop

/// A rectangle of one color as a PNG (RFC 2083), a few hundred bytes whatever its size: one bit a pixel, all of them the first of
/// a palette of one. Equal sizes and colors give equal bytes.
public struct PlaceholderImage: Sendable, Equatable {
  /// Pixels a side may have.
  public static let sides = 1...2_000

  let width: Int
  let height: Int
  private let color: UInt32

  /// - Parameter color: `0xRRGGBB`.
  /// - Returns: `nil` when a side is not within `sides` or the color beyond six digits.
  public init?(width: Int, height: Int, color: UInt32) {
    guard Self.sides.contains(width), Self.sides.contains(height), color <= 0xFF_FFFF else { return nil }
    self.width = width
    self.height = height
    self.color = color
  }

  /// The picture's bytes.
  public var png: [UInt8] {
    var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    var header = Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height))
    header += [1, 3, 0, 0, 0]  // one bit, a palette, the only compression and filtering there are, not interlaced
    Self.append("IHDR", header, to: &bytes)
    Self.append("PLTE", Self.bigEndian(color).dropFirst(), to: &bytes)
    Self.append("IDAT", Self.pixels(width, height), to: &bytes)
    Self.append("IEND", [], to: &bytes)
    return bytes
  }

  private static func append(_ type: StaticString, _ data: some Collection<UInt8>, to bytes: inout [UInt8]) {
    bytes += bigEndian(UInt32(data.count))
    let start = bytes.count
    bytes += UnsafeBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount)
    bytes += data
    let sum = bytes.withUnsafeBytes { all in
      let part = all[start...]
      return crc32(0, UnsafeRawBufferPointer(rebasing: part).bindMemory(to: UInt8.self).baseAddress, UInt32(part.count))
    }
    bytes += bigEndian(UInt32(truncatingIfNeeded: sum))
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    [UInt8(number >> 24), UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
  }

  // MARK: Pixels

  /// Compressed pixels by size. The largest takes two milliseconds to compress and 0.5 KB to keep, and nearly everybody asks
  /// for the same two sizes.
  private static let kept = Lock<[[Int]: [UInt8]]>([:])
  private static let maxKept = 64

  private static func pixels(_ width: Int, _ height: Int) -> [UInt8] {
    if let pixels = kept.withLock({ $0[[width, height]] }) { return pixels }
    let pixels = compressedZeros((1 + (width + 7) / 8) * height)
    kept.withLock { kept in
      if kept.count >= maxKept { kept.removeAll() }
      kept[[width, height]] = pixels
    }
    return pixels
  }

  /// So many zeros as a zlib stream: each row's filter, which is none, and its pixels. They are fed from one small buffer.
  private static func compressedZeros(_ count: Int) -> [UInt8] {
    var stream = z_stream()
    // Runs are all there is to find, and looking for nothing else is twice as fast.
    // The arguments are constants that zlib takes, so only memory can be missing; without it nothing here can go on.
    guard czlib_deflate_init(&stream, 6, Z_RLE) == Z_OK else { preconditionFailure("zlib has no memory") }
    defer { deflateEnd(&stream) }
    var zeros = [UInt8](repeating: 0, count: 16 << 10)
    var output: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4 << 10)
    var left = count
    var state = Z_OK
    while state != Z_STREAM_END {
      let size = min(left, zeros.count)
      left -= size
      zeros.withUnsafeMutableBufferPointer { input in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(size)
        repeat {
          let written = chunk.withUnsafeMutableBufferPointer { buffer in
            stream.next_out = buffer.baseAddress
            stream.avail_out = UInt32(buffer.count)
            state = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH)
            return buffer.count - Int(stream.avail_out)
          }
          output += chunk[..<written]
        } while stream.avail_out == 0 || (left == 0 && state == Z_OK)
      }
    }
    return output
  }
}
