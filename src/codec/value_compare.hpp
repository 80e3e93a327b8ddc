// Whether a described value is left out: empty in the sense of Go's `omitempty`, or the same as another.
#pragma once

#include <tern/codec/reflect.hpp>

namespace tern::codec {

bool is_empty(const value_type& type, const void* object);
bool same_value(const value_type& type, const void* left, const void* right);

}  // namespace tern::codec
