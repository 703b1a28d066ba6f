"""Serves moto on a free port of 127.0.0.1, one request at a time, and writes the port into a file once it listens.

moto's own server answers several requests at once on shared structures without locks; what a test then sees depends on
the machine's mood.

usage: moto_server.py PORT_FILE
"""

import logging
import os
import sys

from moto.moto_server import werkzeug_app
from werkzeug import serving

logging.getLogger("werkzeug").setLevel(logging.ERROR)

application = werkzeug_app.DomainDispatcherApplication(werkzeug_app.create_backend_app)
server = serving.make_server("127.0.0.1", 0, application, threaded=False)

# Written aside and moved, so that who waits for the file never reads half a number.
port_file = sys.argv[1]
with open(port_file + ".new", "w", encoding="ascii") as file:
    file.write(str(server.port))
os.replace(port_file + ".new", port_file)

server.serve_forever()
