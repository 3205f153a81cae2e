// The one place where the compiled half of Asio is built (BOOST_ASIO_SEPARATE_COMPILATION
// everywhere else).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
