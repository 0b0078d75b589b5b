/* A size that ends inside the head. */
#define MODULE_STRUCT_SIZE 4
#include "minimal_hook.h"
