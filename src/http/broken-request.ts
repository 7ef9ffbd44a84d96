import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { CaptureError, toStoredError, toWireError } from '../contract/capture-error.js';
import type { AppServices } from './app-services.js';
import { newExchange } from './exchange.js';

/** Answers requests that are invalid, too slow, or have too large headers in the envelope, then closes the connection. */
export function answerBrokenRequest(services: AppServices, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswered(socket)) return void socket.destroy();
  const { requestId, headers } = newExchange(services, undefined);
  const refused = refusalOf(error.code);
  const body = JSON.stringify({
    ok: false,
    request_id: requestId,
    error: toWireError(toStoredError(refused), requestId, services.places.baseUrl),
  });
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

function refusalOf(code: string | undefined): CaptureError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new CaptureError({ code: 'invalid_request', status: 408, retriable: true, message: 'The request was not received in time.' });
    case 'HPE_HEADER_OVERFLOW':
      return new CaptureError({ code: 'invalid_request', status: 431, message: 'The headers of the request are too large.' });
    default:
      return new CaptureError({ code: 'invalid_request', message: 'The request is not valid HTTP.' });
  }
}

/** Whether a response is already being sent: anything further would be read as part of it. */
function isAnswered(socket: Socket): boolean {
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse | null };
  return answer?.headersSent === true;
}
