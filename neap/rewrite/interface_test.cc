// SPDX-License-Identifier: Apache-2.0
#include "neap/rewrite/interface.h"
