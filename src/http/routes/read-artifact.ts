import { z } from 'zod';
import type { Description, Route } from '../route.js';
import { openArtifact, sendArtifact } from '../send-artifact.js';

/** The file. Its unguessable name is the permission. */
export const readArtifact: Route = {
  method: 'GET',
  path: '/artifacts/:name',
  access: null,
  describe,
  handle: (services) => async (c) => {
    const name = c.req.param('name') ?? '';
    const artifact = await openArtifact(services, name);
    const cacheControl = `public, max-age=${services.config.artifactMaxAgeSeconds}, immutable`;
    return await sendArtifact(services, c, { name, artifact, cacheControl, conditional: true, mayRedirect: true });
  },
};

function describe(): Description {
  return {
    operationId: 'readArtifact',
    tags: ['captures'],
    summary: 'Download a picture or PDF',
    description:
      'The file that `data.cdn_url` points to. Needs no API key: the name cannot be guessed. Supports single ranges and conditional requests.',
    params: z.object({ name: z.string() }),
    headers: z.object({
      Range: z.string().optional(),
      'If-Range': z.string().optional(),
      'If-None-Match': z.string().optional(),
      'If-Modified-Since': z.string().optional(),
    }),
    answers: {
      200: {
        description: 'The file.',
        picture: true,
        headers: { etag: 'strong', 'cache-control': 'public, immutable' },
      },
      206: {
        description: 'The requested range.',
        picture: true,
        headers: { 'content-range': 'byte range and total size' },
      },
      302: {
        description: 'A link to the bucket that keeps the file, where the operator wants that.',
        headers: { location: 'valid for some minutes' },
      },
      304: { description: "The client's copy is up to date." },
    },
    failures: {
      404: 'No such artifact.',
      410: 'The artifact has expired and has been deleted.',
      416: 'The range cannot be satisfied.',
      503: 'The storage cannot be reached at the moment: see `Retry-After`.',
    },
  };
}
