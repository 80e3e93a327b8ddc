#include "base/nuid.hpp"

namespace tern {
namespace {

constexpr char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::uint64_t sequence_end = 839299365868340224;  // 62^10

}  // namespace

nuid_source::nuid_source(std::uint64_t seed) : state_(seed) { renew_prefix(); }

std::uint64_t nuid_source::random() {
  std::uint64_t mixed = (state_ += 0x9e3779b97f4a7c15);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

void nuid_source::renew_prefix() {
  prefix_ = random_text(12);
  sequence_ = random() % sequence_end;
  step_ = 33 + random() % 300;
}

std::string nuid_source::next() {
  sequence_ += step_;
  if (sequence_ >= sequence_end) renew_prefix();
  std::string id = prefix_;
  id.resize(22);
  std::uint64_t rest = sequence_;
  for (int i = 21; i >= 12; --i, rest /= 62) id[i] = digits[rest % 62];
  return id;
}

std::string nuid_source::random_text(std::size_t length) {
  std::string text(length, '0');
  for (char& c : text) c = digits[random() % 62];
  return text;
}

}  // namespace tern
