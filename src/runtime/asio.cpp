// The only translation unit that compiles Asio; everybody else sees its declarations (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
