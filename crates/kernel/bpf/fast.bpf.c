/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/fast.h"

#define LAW fast
#define NAME "nw_fast"
#define OBSERVES
#define STARTS_ITSELF
#include "window_law.h"
