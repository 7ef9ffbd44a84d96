import type { Handler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { sendArtifact } from '../send-artifact.js';

const NAME = /^[A-Za-z0-9_-]{32,128}\.(png|jpeg|jpg|webp|pdf)$/;

/** GET and HEAD /artifacts/{name}: the file. Its unguessable name is the permission. */
export function readArtifact(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const name = c.req.param('name') ?? '';
    if (!NAME.test(name)) throw noSuchArtifact();
    const artifact = await edge.openPicture(name);
    if (artifact === 'deleted') throw deletedArtifact();
    if (artifact === null) throw noSuchArtifact();
    const cacheControl = `public, max-age=${edge.config.artifactMaxAgeSeconds}, immutable`;
    return await sendArtifact(edge, c, { name, artifact, cacheControl, conditional: true, mayRedirect: true });
  };
}

function noSuchArtifact(): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 404, message: 'No such artifact' });
}

function deletedArtifact(): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    status: 410,
    message: 'This artifact has expired and was deleted. Capture the page again.',
  });
}
