import { CaptureError } from '../../contract/capture-error.js';
import { sendArtifact } from '../send-artifact.js';
import type { Answer, Visit } from './visit.js';

const NAME = /^[A-Za-z0-9_-]{32,128}\.(png|jpeg|jpg|webp|pdf)$/;

/** A picture through this server, also if it is in a bucket: the pages may load nothing from elsewhere. */
export async function showPicture({ services, c }: Visit): Promise<Answer> {
  const name = c.req.param('name') ?? '';
  const artifact = NAME.test(name) ? await services.openPicture(name) : null;
  if (artifact === null) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'No such picture' });
  if (artifact === 'deleted') {
    throw new CaptureError({ code: 'invalid_request', status: 410, message: 'This picture has expired and was deleted.' });
  }
  return await sendArtifact(services, c, { name, artifact, cacheControl: 'private, max-age=600', conditional: true, mayRedirect: false });
}
