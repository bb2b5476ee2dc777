// Chooses the kernel table at run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/kernels/kernel_table.h"

namespace sluice::backend::cpu {

// Tables that this host can run, best first; scalar is always last.
std::vector<const KernelTable*> available_tables();

// Throws std::invalid_argument, listing what is available, when the host lacks `name`; "auto" is the best.
const KernelTable& select_table(std::string_view name);

}  // namespace sluice::backend::cpu
