/// The photo service and GIPHY.
extension Simulator {
  /// How many photos there are from now on, fifty an album; at most 20,000.
  public func setPhotoCount(_ count: Int) { engine.world.withLock { $0.library.setCount(count) } }

  /// Gives a photo another title.
  public func renamePhoto(_ id: Int, to title: String) { engine.world.withLock { $0.library.rename(id, title) } }

  /// Which GIPHY keys are good from now on; `nil`: all.
  public func setGiphyKeys(_ keys: Set<String>?) { engine.world.withLock { $0.gifLibrary.keys = keys } }

  /// How many calls an hour a GIPHY key has from now on.
  public func setGiphyLimit(_ limit: Int) { engine.world.withLock { $0.gifLibrary.limit = max(0, limit) } }

  /// Takes a GIF away for good.
  public func removeGif(_ id: String) { engine.world.withLock { $0.gifLibrary.remove(id) } }

  /// The id of a made-up GIF or sticker, by a number below a million.
  public static func gifID(_ number: Int, isSticker: Bool = false) -> String {
    GifLibrary.id(number, isSticker: isSticker)
  }
}
