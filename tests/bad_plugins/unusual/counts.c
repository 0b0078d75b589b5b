/* Says how often the statics of counted.cc were used. */
#include "says.h"
