/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/bic.h"

#define LAW bic
#define NAME "nw_bic"
#define FORGETS
#include "window_law.h"
