/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0 */
#include "../laws/scalable.h"

#define LAW scalable
#define NAME "nw_scalable"
#include "window_law.h"
