// Any text is opened or refused, and so are any claims: signed ones of each kind are read without harm, and what a
// template makes of them stays within its bounds.
#include "auth/claims.hpp"
#include "auth/credentials.hpp"
#include "auth/permission_template.hpp"
#include "auth/user_admission.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::auth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)open_token(text);
  (void)decode_seed(text);
  (void)decode_any_public_key(text);
  (void)read_credentials(text);
  (void)parse_address_range(text);

  const auto user = read_claims<user_claims>(text);
  const auto account = read_claims<account_claims>(text);
  (void)read_claims<operator_claims>(text);
  if (!user || !account) return 0;
  (void)check_user_claims(*user, tern::time_point{});
  if (const auto made = apply_template(user->nats.rights, *user, *account)) {
    const auto few = [&](const std::vector<std::string>& subjects, const std::vector<std::string>& templates) {
      return subjects.size() <= templates.size() * template_subjects_max + 1;
    };
    if (!few(made->pub.allow, user->nats.rights.pub.allow) || !few(made->sub.deny, user->nats.rights.sub.deny)) abort();
  }
  return 0;
}
