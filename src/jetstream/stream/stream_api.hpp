// The API's operations on streams: each reads its request, does it, and answers (jetstream 2-4, 8.1, 9, 18).
#pragma once

#include "jetstream/account_streams.hpp"
#include "jetstream/api.hpp"

#include <string_view>

namespace tern::jetstream::stream_api {

// `name` is the stream token of the request's subject.
void create(account_streams& in, api_request& request, std::string_view name);
void update(account_streams& in, api_request& request, std::string_view name);
void info(account_streams& in, api_request& request, std::string_view name);
void remove(account_streams& in, api_request& request, std::string_view name);
void purge(account_streams& in, api_request& request, std::string_view name);
void get_message(account_streams& in, api_request& request, std::string_view name);
void delete_message(account_streams& in, api_request& request, std::string_view name);
void names(account_streams& in, api_request& request);
void list(account_streams& in, api_request& request);
void account_info(account_streams& in, api_request& request);

// The stream, or answers that there is none (10059, 10194 when its data cannot be read).
stream* find_or_answer(account_streams& in, api_request& request, std::string_view name);
// A stream that the store holds, with its consumers; takes messages when this returns.
void open_recovered(account_streams& in, storage::stream_record& record);

}  // namespace tern::jetstream::stream_api
