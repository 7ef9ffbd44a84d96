import { z } from 'zod';
import { count, list, text, whole } from '../../contract/described.js';
import { MODEL_ANSWER_MAX_BYTES, MODEL_EDGE_MAX_PX, MODEL_TILES_MAX } from '../../contract/model-tiles.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { invalidRequest, parseFields } from '../../contract/submission.js';
import { answerData } from '../exchange.js';
import type { Description, Route } from '../route.js';
import { jobIdSchema, jobOfPath } from './jobs.js';

const tilesQuery = z.object({
  from: z.int().min(1).default(1).meta({ description: 'number of the first tile', example: 1 }),
  capture: z
    .string()
    .optional()
    .meta({ description: 'name of one of `captures`; default: the first picture', example: 'hero' }),
});

const tilesSchema = z.object({
  total: whole('number of all tiles of the picture', 3),
  next: whole('`from` of the next tiles; null after the last', 2).nullable(),
  tiles: list('tiles from top to bottom', {
    media_type: text('type of the tile', 'image/webp'),
    base64: text('the tile itself', 'UklGRg=='),
    top: count('first row of the picture, in px, that the tile shows', 0),
    bottom: count('row below the last one', 1_568),
  }),
});

/** The picture of a job in tiles for language models, as the tools of MCP return it (extensions.md). */
export const readTiles: Route = {
  method: 'GET',
  path: '/v1/jobs/:id/tiles',
  // They take about as long as a small capture.
  access: { scope: 'jobs:read', meter: 'submissions' },
  describe,
  handle: (services) => async (c) => {
    const { from: first, ...query } = c.req.query();
    const range = first === undefined ? query : { ...query, from: /^\d{1,6}$/.test(first) ? Number(first) : first };
    const { from, capture } = parseFields(tilesQuery, range);
    const { result } = await jobOfPath(services, c);
    if (result?.outcome.ok !== true)
      throw invalidRequest([{ path: 'id', message: 'must be a job that has completed' }]);
    const { data } = result.outcome;
    const { captures = [{ ...data, name: '' }] } = data;
    const picture = capture === undefined ? captures[0] : captures.find(({ name }) => name === capture);
    if (picture === undefined)
      throw invalidRequest([{ path: 'capture', message: 'must be the name of one of `captures`' }]);
    if (/^(pdf|mp4|html)$/.test(picture.format))
      throw invalidRequest([{ path: 'id', message: 'must be a job with a picture' }]);
    const { artifact, diagnostics } = picture;
    const { tiles, total } = await services.modelView(artifact, { from, density: diagnostics.deviceScaleFactor });
    const next = from + tiles.length;
    return answerData(c, {
      total,
      next: next > total ? null : next,
      tiles: tiles.map(({ content, mediaType, top, bottom }) => ({
        media_type: mediaType,
        base64: content.toString('base64'),
        top,
        bottom,
      })),
    });
  },
};

function describe(): Description {
  return {
    operationId: 'readTiles',
    tags: ['jobs'],
    summary: 'Read the picture of a job in tiles for language models',
    description: `At most ${MODEL_TILES_MAX} tiles of at most ${MODEL_EDGE_MAX_PX} px a side, ${MODEL_ANSWER_MAX_BYTES / 1_000} kB together. Each begins with the last rows of the one before. Neither renders nor charges; takes from the bucket of submissions.`,
    params: jobIdSchema,
    query: tilesQuery,
    answers: { 200: { description: 'The tiles from `from` on.', data: tilesSchema } },
    failures: {
      400: 'The query is not valid, or the job has no picture.',
      404: 'No such job for this API key.',
      410: 'The picture has been deleted.',
    },
    ...EXTENSION,
  };
}
