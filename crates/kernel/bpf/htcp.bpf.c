/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/htcp.h"

#define LAW htcp
#define NAME "nw_htcp"
#define OBSERVES
#define RESTARTS
#include "window_law.h"
