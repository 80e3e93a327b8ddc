// Where a parser stands between two bytes. The numbers are the peer's, because operators know them from its log lines.
#pragma once

#include <cstdint>

namespace tern::protocol {

enum class operation_state : std::uint8_t {
  start = 0,
  plus = 1,
  plus_o = 2,
  plus_ok = 3,
  minus = 4,
  minus_e = 5,
  minus_er = 6,
  minus_err = 7,
  minus_err_blank = 8,
  minus_err_argument = 9,
  after_c = 10,
  after_co = 11,
  after_con = 12,
  after_conn = 13,
  after_conne = 14,
  after_connec = 15,
  connect = 16,
  connect_argument = 17,
  after_h = 18,
  after_hp = 19,
  after_hpu = 20,
  hpub = 21,
  hpub_blank = 22,
  hpub_argument = 23,
  after_hm = 24,
  after_hms = 25,
  hmsg = 26,
  hmsg_blank = 27,
  hmsg_argument = 28,
  after_p = 29,
  after_pu = 30,
  pub = 31,
  pub_blank = 32,
  pub_argument = 33,
  after_pi = 34,
  after_pin = 35,
  ping = 36,
  after_po = 37,
  after_pon = 38,
  pong = 39,
  body = 40,
  body_end_cr = 41,
  body_end_lf = 42,
  after_s = 43,
  after_su = 44,
  sub = 45,
  sub_blank = 46,
  sub_argument = 47,
  after_u = 59,
  after_un = 60,
  after_uns = 61,
  after_unsu = 62,
  unsub = 63,
  unsub_blank = 64,
  unsub_argument = 65,
  after_m = 66,
  after_ms = 67,
  msg = 68,
  msg_blank = 69,
  msg_argument = 70,
  after_i = 71,
  after_in = 72,
  after_inf = 73,
  info = 74,
  info_argument = 75,
};

namespace detail {
struct letter_step {
  operation_state from;
  char letter;  // upper case
  operation_state to;
};
}  // namespace detail

// The letters of all operations. A state that no letter leads on from is returned unchanged: an unknown operation.
inline operation_state after_letter(operation_state state, char letter) {
  using enum operation_state;
  static constexpr detail::letter_step steps[] = {{start, 'P', after_p},
                                                  {start, 'S', after_s},
                                                  {start, 'U', after_u},
                                                  {start, 'C', after_c},
                                                  {start, 'H', after_h},
                                                  {start, 'M', after_m},
                                                  {start, 'I', after_i},
                                                  {start, '+', plus},
                                                  {start, '-', minus},
                                                  {plus, 'O', plus_o},
                                                  {plus_o, 'K', plus_ok},
                                                  {minus, 'E', minus_e},
                                                  {minus_e, 'R', minus_er},
                                                  {minus_er, 'R', minus_err},
                                                  {after_c, 'O', after_co},
                                                  {after_co, 'N', after_con},
                                                  {after_con, 'N', after_conn},
                                                  {after_conn, 'E', after_conne},
                                                  {after_conne, 'C', after_connec},
                                                  {after_connec, 'T', connect},
                                                  {after_h, 'P', after_hp},
                                                  {after_hp, 'U', after_hpu},
                                                  {after_hpu, 'B', hpub},
                                                  {after_h, 'M', after_hm},
                                                  {after_hm, 'S', after_hms},
                                                  {after_hms, 'G', hmsg},
                                                  {after_p, 'U', after_pu},
                                                  {after_pu, 'B', pub},
                                                  {after_p, 'I', after_pi},
                                                  {after_pi, 'N', after_pin},
                                                  {after_pin, 'G', ping},
                                                  {after_p, 'O', after_po},
                                                  {after_po, 'N', after_pon},
                                                  {after_pon, 'G', pong},
                                                  {after_s, 'U', after_su},
                                                  {after_su, 'B', sub},
                                                  {after_u, 'N', after_un},
                                                  {after_un, 'S', after_uns},
                                                  {after_uns, 'U', after_unsu},
                                                  {after_unsu, 'B', unsub},
                                                  {after_m, 'S', after_ms},
                                                  {after_ms, 'G', msg},
                                                  {after_i, 'N', after_in},
                                                  {after_in, 'F', after_inf},
                                                  {after_inf, 'O', info}};
  if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 0x20);
  for (const detail::letter_step& step : steps) {
    if (step.from == state && step.letter == letter) return step.to;
  }
  return state;
}

}  // namespace tern::protocol
