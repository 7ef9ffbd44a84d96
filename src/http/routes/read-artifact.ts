import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { failures, header, pictureContent } from '../docs/operation-parts.js';
import type { Description, Route } from '../route.js';
import { sendArtifact } from '../send-artifact.js';

const NAME = /^[A-Za-z0-9_-]{32,128}\.(png|jpeg|jpg|webp|pdf)$/;

/** The file. Its unguessable name is the permission. */
export const readArtifact: Route = {
  method: 'GET',
  path: '/artifacts/:name',
  access: null,
  describe,
  handle: (services) => async (c) => {
    const name = c.req.param('name') ?? '';
    if (!NAME.test(name)) throw noSuchArtifact();
    const artifact = await services.openPicture(name);
    if (artifact === 'deleted') throw deletedArtifact();
    if (artifact === null) throw noSuchArtifact();
    const cacheControl = `public, max-age=${services.config.artifactMaxAgeSeconds}, immutable`;
    return await sendArtifact(services, c, { name, artifact, cacheControl, conditional: true, mayRedirect: true });
  },
};

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

function describe(): Description {
  const content = pictureContent();
  return {
    operationId: 'readArtifact',
    tags: ['captures'],
    summary: 'Download a picture or PDF',
    description:
      'The file that `data.cdn_url` points to. Needs no API key: the name cannot be guessed. Supports single ranges and conditional requests.',
    request: {
      params: z.object({ name: z.string() }),
      headers: z.object({
        Range: z.string().optional(),
        'If-Range': z.string().optional(),
        'If-None-Match': z.string().optional(),
        'If-Modified-Since': z.string().optional(),
      }),
    },
    responses: {
      200: { description: 'The file.', headers: { etag: header('strong'), 'cache-control': header('public, immutable') }, content },
      206: { description: 'The requested range.', headers: { 'content-range': header('byte range and total size') }, content },
      302: {
        description: 'A link to the bucket that keeps the file, where the operator wants that.',
        headers: { location: header('valid for some minutes') },
      },
      304: { description: "The client's copy is up to date." },
      ...failures({
        404: 'No such artifact.',
        410: 'The artifact has expired and has been deleted.',
        416: 'The range cannot be satisfied.',
        503: 'The storage cannot be reached at the moment: see `Retry-After`.',
      }),
    },
  };
}
