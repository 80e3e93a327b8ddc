// tern sub
#include "message_view.hpp"
#include "messages.hpp"

namespace tern::command {

result<void> subscribe(session& in, const subscribe_arguments& what) {
  auto connected = in.connect(session::lifetime::lasting);
  if (!connected) return std::unexpected(std::move(connected).error());
  auto taken = connected->subscribe(what.subject,
                                    client::subscribe_options().queue_group(what.queue_group).max_messages(what.count));
  if (!taken) return std::unexpected(std::move(taken).error());
  if (auto settled = in.settle(*connected); !settled) return settled;
  const bool plain = what.raw || in.json();
  if (!plain) in.note("Subscribing on " + what.subject);
  const message_style style = in.json()           ? message_style::json
                              : what.raw          ? message_style::raw
                              : what.headers_only ? message_style::headers_only
                                                  : message_style::full;
  for (std::uint64_t number = 1; what.count == 0 || number <= what.count; ++number) {
    auto waiting = taken->try_next();
    if (!waiting) {
      // Nothing more has come: show what there is, then wait.
      if (auto shown = in.output().flush(); !shown) return shown;
      auto next = taken->next().get();
      if (!next) return std::unexpected(std::move(next).error());
      waiting = *std::move(next);
    }
    in.output().print(describe_message(*waiting, number, style));
  }
  return {};
}

}  // namespace tern::command
