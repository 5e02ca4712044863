/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/ltcp.h"

#define LAW ltcp
#define NAME "nw_ltcp"
#include "window_law.h"
