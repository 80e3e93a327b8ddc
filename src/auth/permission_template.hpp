// The template of a scoped signing key: subjects with `{{name()}}`, `{{tag(x)}}` and their like become a user's own
// (core 3.5). Stateless; any thread.
#pragma once

#include "auth/claims.hpp"

#include <tern/base/error.hpp>

#include <cstddef>

namespace tern::auth {

// Subjects that one text may become: each value of a tag with each value of the others.
inline constexpr std::size_t template_subjects_max = 4096;

// Fails for an operation that is not known, for too many subjects, and when a denied subject would have none.
result<user_rights> apply_template(const user_rights& scope, const user_claims& user, const account_claims& account);

}  // namespace tern::auth
