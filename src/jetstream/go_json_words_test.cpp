#include "jetstream/go_json_words.hpp"

#include "jetstream/consumer/consumer_config.hpp"
#include "jetstream/stream/stream_config.hpp"

#include <gtest/gtest.h>

namespace tern::jetstream {
namespace {

std::string stream_request(std::string_view body) {
  return describe_misfit(body, codec::type_of<stream_config_request>(), "stream_create_response").value_or("fits");
}

std::string consumer_request(std::string_view body) {
  return describe_misfit(body, codec::type_of<consumer_create_request>(), "consumer_create_response").value_or("fits");
}

TEST(go_json_words, name_the_value_the_field_and_its_type) {  // jetstream 1.5
  EXPECT_EQ(stream_request(R"({"name":5})"),
            "json: cannot unmarshal number into Go struct field StreamConfigRequest.name of type string");
  EXPECT_EQ(stream_request(R"({"max_msgs":1.5})"),
            "json: cannot unmarshal number 1.5 into Go struct field StreamConfigRequest.max_msgs of type int64");
  EXPECT_EQ(stream_request(R"({"max_msg_size":99999999999})"),
            "json: cannot unmarshal number 99999999999 into Go struct field StreamConfigRequest.max_msg_size of type "
            "int32");
  EXPECT_EQ(stream_request(R"({"first_seq":-1})"),
            "json: cannot unmarshal number -1 into Go struct field StreamConfigRequest.first_seq of type uint64");
  EXPECT_EQ(stream_request(R"({"sources":[{"name":1}]})"),
            "json: cannot unmarshal number into Go struct field StreamConfigRequest.sources.0.name of type string");
  EXPECT_EQ(stream_request(R"({"subjects":["a",1]})"),
            "json: cannot unmarshal number into StreamConfigRequest.subjects.1 of type string");
  EXPECT_EQ(stream_request(R"({"consumer_limits":{"max_ack_pending":"x"}})"),
            "json: cannot unmarshal string into Go struct field StreamConfigRequest.consumer_limits.max_ack_pending of "
            "type int");
  EXPECT_EQ(stream_request("[]"), "json: cannot unmarshal array into Go value of type server.StreamConfigRequest");
  EXPECT_EQ(consumer_request(R"({"config":{"ack_wait":"x"}})"),
            "json: cannot unmarshal string into Go struct field CreateConsumerRequest.config.ack_wait of type "
            "time.Duration");
}

TEST(go_json_words, of_words_and_times_have_their_own_form) {  // jetstream 1.5
  EXPECT_EQ(stream_request(R"({"retention":"foo"})"), R"(can not unmarshal "\"foo\"")");
  EXPECT_EQ(stream_request(R"({"compression":"foo"})"), "unknown compression algorithm");
  EXPECT_EQ(consumer_request(R"({"action":"x"})"), R"(unknown consumer action: "x")");
  EXPECT_EQ(consumer_request(R"({"action":null})"), "unknown consumer action: null");
  EXPECT_EQ(consumer_request(R"({"config":{"ack_policy":null}})"), R"(can not unmarshal "null")");
  EXPECT_EQ(consumer_request(R"({"config":{"priority_policy":null}})"), "unknown priority policy: null");
  EXPECT_EQ(consumer_request(R"({"config":{"opt_start_time":"x"}})"),
            R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")");
}

TEST(go_json_words, are_silent_where_everything_fits) {
  EXPECT_EQ(stream_request(R"({"NAME":"S","max_msgs":null,"max_age":-5,"discard":"NEW","unknown":[1]})"), "fits");
  EXPECT_EQ(stream_request(R"({"name":)"), "fits");  // malformed: somebody else says so
}

}  // namespace
}  // namespace tern::jetstream
