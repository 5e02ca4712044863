/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/highspeed.h"

#define LAW highspeed
#define NAME "nw_highspeed"
#include "window_law.h"
