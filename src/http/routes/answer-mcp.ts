import { CaptureError } from '../../contract/capture-error.js';
import { refuseForeignPage } from '../own-site.js';
import { readJson } from '../read-body.js';
import type { Route } from '../route.js';

/** One message of the Model Context Protocol (Streamable HTTP). Tools check their own scopes; captures are counted as submissions besides. */
export const answerMcp: Route = {
  method: 'POST',
  path: '/mcp',
  access: { scope: null, meter: 'reads' },
  before: (services) => async (c, next) => {
    refuseForeignPage(services, c);
    await next();
  },
  handle: (services) => async (c) => {
    const message = await readJson(c.env.incoming);
    // Else one request could do the work of thousands, and be counted as one.
    if (Array.isArray(message))
      throw new CaptureError({ code: 'invalid_request', message: 'The body must be a single JSON-RPC message.' });
    const { answerMessage } = await import('../mcp/answer-message.js');
    return await answerMessage(services, c, message);
  },
};
