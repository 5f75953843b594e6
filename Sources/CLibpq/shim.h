#ifndef MAGPIE_CLIBPQ_SHIM_H
#define MAGPIE_CLIBPQ_SHIM_H
#include <libpq-fe.h>
#endif
