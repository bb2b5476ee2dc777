// Chooses the kernel table at run time.
#pragma once

#include <string_view>
#include <vector>

#include "backend/cpu/kernels/kernel_table.h"

namespace sluice::backend::cpu {

// Tables that this host can run, best first; scalar is always last.
std::vector<const KernelTable*> available_tables();

// "auto", the best, or the name of one of available_tables().
const KernelTable& select_table(std::string_view name);

}  // namespace sluice::backend::cpu
