/// Columns on a terminal.
#pragma once

#include <string>
#include <vector>

namespace tessera::apps {

/// Left-aligned, two blanks between columns, to standard output.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace tessera::apps
