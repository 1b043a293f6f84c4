"""Prints what is posted to http://127.0.0.1:8099/, and answers that it has it."""

import http.server


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print(self.rfile.read(int(self.headers["Content-Length"])).decode(), flush=True)
        self.send_response(204)
        self.end_headers()


http.server.HTTPServer(("127.0.0.1", 8099), Receiver).serve_forever()
