#include "store.hpp"

namespace tern::command {

result<void> store_verify(session&, const store_check_arguments&) { return {}; }
result<void> store_repair(session&, const store_repair_arguments&) { return {}; }

}  // namespace tern::command
