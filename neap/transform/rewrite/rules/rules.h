// SPDX-License-Identifier: Apache-2.0
//
// The rules, one a file. Private to neap/rewrite.
#pragma once

#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {

Rule NoOpRule();
Rule ConcatRule();
Rule SliceRule();
Rule KernelWiseRule();
Rule ChannelWiseRule();
Rule SumRule();
Rule SplitConvRule();
Rule KeyBlocksRule();

}  // namespace neap::rewrite
