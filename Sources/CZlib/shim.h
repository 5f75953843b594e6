#ifndef MAGPIE_CZLIB_SHIM_H
#define MAGPIE_CZLIB_SHIM_H
#include <zlib.h>

/// `deflateInit2` is a macro with the library's version in it, which Swift does not import.
static inline int czlib_deflate_init(z_stream *stream, int level, int strategy) {
  return deflateInit2(stream, level, Z_DEFLATED, 15, 8, strategy);
}
#endif
