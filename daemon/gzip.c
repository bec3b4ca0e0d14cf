/* gzip - one whole buffer compressed at a time. */
#include "daemon/gzip.h"

#include <libdeflate.h>

/*
 * A page compresses to a seventh already at the lowest level; the next ones save a few per cent
 * for half as much time again.
 */
enum { GZIP_LEVEL = 1 };

struct gzip *gzip_new(void)
{
    return (struct gzip *)libdeflate_alloc_compressor(GZIP_LEVEL);
}

struct gzip *gzip_free(struct gzip *gzip)
{
    if (gzip)
        libdeflate_free_compressor((struct libdeflate_compressor *)gzip);
    return NULL;
}

void gzip_append(struct gzip *gzip, struct span data, struct buf *out)
{
    struct libdeflate_compressor *compressor = (struct libdeflate_compressor *)gzip;
    size_t bound = libdeflate_gzip_compress_bound(compressor, data.n);
    char *room = buf_reserve(out, bound);

    if (room)
        buf_commit(out, libdeflate_gzip_compress(compressor, data.p, data.n, room, bound));
}

uint32_t gzip_crc32(struct span data)
{
    return libdeflate_crc32(0, data.p, data.n);
}
