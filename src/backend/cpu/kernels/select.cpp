#include "backend/cpu/kernels/select.h"

#include "base/check.h"

namespace sluice::backend::cpu {

std::vector<const KernelTable*> available_tables() {
  std::vector<const KernelTable*> tables;
  // __builtin_cpu_supports also asks whether the operating system saves the registers.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vnni")) {
    tables.push_back(&kAvx512);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    tables.push_back(&kAvx2);
  }
  tables.push_back(&kScalar);
  return tables;
}

const KernelTable& select_table(std::string_view name) {
  for (const KernelTable* table : available_tables()) {
    if (name == "auto" || name == table->name) return *table;
  }
  SLUICE_CHECK(false, "a table that this host has");
}

}  // namespace sluice::backend::cpu
