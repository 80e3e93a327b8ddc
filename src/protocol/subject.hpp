// Subjects and patterns: validity, tokens and matching (core 2.4). Functions on text without state; none allocates.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace tern::protocol {

// Walks the tokens of a subject; an empty token is a token ("a..b" has three, "" has one).
//     for (std::string_view token : subject_tokens(subject)) ...
class subject_tokens {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    std::string_view operator*() const { return subject_.substr(begin_, end_ - begin_); }
    iterator& operator++() {
      begin_ = end_ + 1;
      end_ = begin_ > subject_.size() ? begin_ : find_end();
      return *this;
    }
    iterator operator++(int) {
      const iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator& other) const { return begin_ == other.begin_; }

   private:
    friend class subject_tokens;
    iterator(std::string_view subject, std::size_t begin) : subject_(subject), begin_(begin) {
      end_ = begin_ > subject_.size() ? begin_ : find_end();
    }
    std::size_t find_end() const {
      const std::size_t dot = subject_.find('.', begin_);
      return dot == std::string_view::npos ? subject_.size() : dot;
    }
    std::string_view subject_;
    std::size_t begin_;
    std::size_t end_;
  };

  explicit subject_tokens(std::string_view subject) : subject_(subject) {}
  iterator begin() const { return iterator(subject_, 0); }
  iterator end() const { return iterator(subject_, subject_.size() + 1); }

 private:
  std::string_view subject_;
};

// What SUB accepts: no empty token, `>` only as the last one.
bool is_valid_subject(std::string_view subject);
// What a pedantic PUB must be, and a subject to publish to anywhere: valid and without wildcard tokens.
bool is_valid_literal(std::string_view subject);
// What configuration, permissions, mappings and streams accept: valid, without SP TAB CR LF FF.
bool is_valid_config_subject(std::string_view subject);
bool is_valid_config_literal(std::string_view subject);

// No token is `*` or `>`. Says nothing about validity.
bool is_literal(std::string_view subject);
inline bool has_wildcards(std::string_view subject) { return !is_literal(subject); }

std::size_t token_count(std::string_view subject);
// Counts from 0; empty when there are fewer tokens.
std::string_view nth_token(std::string_view subject, std::size_t index);

// Whether a message published to `subject` reaches a subscription to `pattern`. The subject's own tokens are literal:
// a published `foo.*` matches the patterns `foo.*` and `foo.>`, not `foo.bar`.
bool subject_matches(std::string_view pattern, std::string_view subject);
// Whether some literal subject matches both patterns.
bool subjects_overlap(std::string_view left, std::string_view right);
// Whether everything that `pattern` matches is matched by `of` too.
bool is_subset(std::string_view pattern, std::string_view of);

}  // namespace tern::protocol
