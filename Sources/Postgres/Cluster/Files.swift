import EventLoop
import Glibc

/// The few things done with files here.
package enum Files {
  /// Names in a directory, without `.` and `..`; empty when it cannot be read.
  package static func names(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// The first bytes of a file; `nil` when it cannot be read.
  package static func read(_ path: String, limit: Int = 65_536) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { System.close(file) }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = Glibc.read(file, &bytes, limit)
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// The last line in the last 16 KiB of a file that contains `word`.
  static func lastLine(containing word: String, of path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { System.close(file) }
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let size = lseek(file, 0, SEEK_END)
    let count = pread(file, &bytes, bytes.count, max(0, size - off_t(bytes.count)))
    guard count > 0 else { return nil }
    return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").last { $0.contains(word) }
      .map(String.init)
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  static func status(_ path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }

  /// Makes a directory and those above it. One that is there is left as it is.
  static func makeDirectory(_ path: String, mode: mode_t = 0o755) throws(SystemError) {
    if exists(path) { return }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try makeDirectory(String(path[..<slash]))
    }
    if mkdir(path, mode) < 0, errno != EEXIST { throw SystemError("mkdir \(path)") }
  }

  /// The path from the root, with no symbolic links, of something that exists.
  static func absolute(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else { throw SystemError("realpath \(path)") }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Where a symbolic link points to, such as `/proc/1/cwd`.
  static func link(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      // Not empty, so there is a base address.
      readlink(path, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
  }

  /// Removes a file or a directory with all that is in it. Links are removed, not followed.
  package static func remove(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFDIR {
      for name in names(in: path) { remove(path + "/" + name) }
      rmdir(path)
    } else {
      unlink(path)
    }
  }
}
