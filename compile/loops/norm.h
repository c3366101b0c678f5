// The passes of normalisations are written as those of reductions are.
#pragma once
#include "compile/loops/reduce.h"
