/** Watches, their runs and their feeds (extensions.md, Watches). */
import type { Context } from 'hono';
import { html } from 'hono/html';
import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { isId } from '../../contract/ids.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { parseFields } from '../../contract/submission.js';
import {
  runSchema,
  runWithMessagesSchema,
  WATCHES_PAGE,
  watchRequestSchema,
  watchSchema,
} from '../../contract/watch.js';
import type { Watches, WatchPage } from '../../watch/watches.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { answerData } from '../exchange.js';
import { failureOf, guard, keyLimited, type Protection, principalOf, takeToken } from '../guard.js';
import { readJson } from '../read-body.js';
import { extensionRoute, type Route } from '../route.js';
import { refuseWhenDraining } from '../submit-and-wait.js';

const READS: Protection = { scope: 'watches:read', meter: 'reads' };
const WRITES: Protection = { scope: 'watches:write', meter: 'submissions' };

const EXAMPLE_IDS = { watch: 'wat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', run: 'run_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' };
const watchId = z.object({ id: z.string().meta({ description: 'id of the watch', example: EXAMPLE_IDS.watch }) });
const runId = watchId.extend({ run: z.string().meta({ description: 'id of the run', example: EXAMPLE_IDS.run }) });
const cursorOf = (kind: 'watch' | 'run') =>
  z
    .string()
    .refine((text) => isId(kind, text), 'must be a `next_cursor` of an earlier page')
    .optional()
    .meta({ description: '`next_cursor` of the previous page', example: EXAMPLE_IDS[kind] });
const pageOf = (kind: 'watch' | 'run') =>
  z.object({
    limit: z
      .int()
      .min(WATCHES_PAGE.min)
      .max(WATCHES_PAGE.max)
      .default(WATCHES_PAGE.default)
      .meta({ description: 'entries per page', example: 20 }),
    cursor: cursorOf(kind),
  });
const nextCursor = z.string().nullable().meta({ description: 'null on the last page', example: null });

const NO_WATCH = { 404: 'No such watch for this API key.' };
const NO_RUN = { 404: 'No such watch or run for this API key.' };
const REFUSED = { 400: 'The watch is not valid.' };

/** An endpoint of watches. */
function route(
  method: Route['method'],
  path: string,
  {
    handle,
    ...parts
  }: Omit<Parameters<typeof extensionRoute>[2], 'handle'> & {
    handle: (watches: Watches, c: Context<AppEnv>, services: AppServices) => Promise<Response>;
  },
): Route {
  return extensionRoute('watches', [method, path], {
    ...parts,
    handle: async (services, c) => await handle(await services.watches(), c, services),
  });
}

const idOf = (c: Context<AppEnv>) => c.req.param('id') ?? '';
const runIdOf = (c: Context<AppEnv>) => c.req.param('run') ?? '';

export const WATCH_ROUTES: readonly Route[] = [
  route('POST', '/v1/watches', {
    access: WRITES,
    described: {
      operationId: 'createWatch',
      summary: 'Watch a page',
      description: 'Captures a page by a schedule, and reports what has changed.',
      body: {
        description: 'At most 256 KiB.',
        schema: watchRequestSchema,
        example: {
          name: 'Pricing page',
          request: { url: 'https://example.com/pricing' },
          schedule: { every: '1h' },
          send: [{ email: { to: 'ada@example.com' } }],
        },
      },
      answers: { 201: { description: 'The watch.', data: watchSchema } },
      failures: { ...REFUSED, 503: 'Shutting down.' },
    },
    async handle(watches, c, services) {
      refuseWhenDraining(services);
      const watch = await watches.create(principalOf(c), await readJson(c.env.incoming));
      c.var.exchange.headers.location = `/v1/watches/${watch.id}`;
      return answerData(c, watch, 201);
    },
  }),
  route('GET', '/v1/watches', {
    access: READS,
    described: {
      operationId: 'listWatches',
      summary: "List the key's watches, newest first",
      query: pageOf('watch'),
      answers: {
        200: {
          description: 'A page of watches.',
          data: z.object({
            watches: z.array(watchSchema).meta({ description: 'watches, newest first', example: [] }),
            next_cursor: nextCursor,
          }),
        },
      },
      failures: { 400: 'The query is not valid.' },
    },
    async handle(watches, c) {
      const { watches: found, next } = await watches.list(principalOf(c), readPage(c, 'watch'));
      return answerData(c, { watches: found, next_cursor: next });
    },
  }),
  route('GET', '/v1/watches/:id', {
    access: READS,
    described: {
      operationId: 'readWatch',
      summary: 'Read a watch',
      params: watchId,
      answers: { 200: { description: 'The watch.', data: watchSchema } },
      failures: NO_WATCH,
    },
    handle: async (watches, c) => answerData(c, await watches.read(principalOf(c), idOf(c))),
  }),
  route('PATCH', '/v1/watches/:id', {
    access: WRITES,
    described: {
      operationId: 'changeWatch',
      summary: 'Change, pause or resume a watch',
      description:
        'Fields that are given replace what they were. `***`, which stands for a secret, leaves it as it is.',
      params: watchId,
      body: {
        description: 'At most 256 KiB.',
        schema: watchRequestSchema.partial().meta({ id: 'WatchChange', ...EXTENSION }),
        example: { paused: true },
      },
      answers: { 200: { description: 'The watch.', data: watchSchema } },
      failures: { ...REFUSED, ...NO_WATCH, 409: 'Somebody else has changed the watch at the same time.' },
    },
    handle: async (watches, c) =>
      answerData(c, await watches.change(principalOf(c), idOf(c), await readJson(c.env.incoming))),
  }),
  route('DELETE', '/v1/watches/:id', {
    access: WRITES,
    described: {
      operationId: 'removeWatch',
      summary: 'Remove a watch with its history',
      params: watchId,
      answers: {
        200: {
          description: 'It is removed.',
          data: watchId.extend({ removed: z.literal(true).meta({ description: 'always true', example: true }) }),
        },
      },
      failures: NO_WATCH,
    },
    async handle(watches, c) {
      await watches.remove(principalOf(c), idOf(c));
      return answerData(c, { id: idOf(c), removed: true });
    },
  }),
  route('POST', '/v1/watches/:id/run', {
    access: WRITES,
    described: {
      operationId: 'runWatch',
      summary: 'Run a watch now',
      description: 'A paused watch runs as well. If a run has not ended yet, it is returned, and no other is started.',
      params: watchId,
      answers: { 202: { description: 'The run.', data: runSchema } },
      failures: NO_WATCH,
    },
    handle: async (watches, c) => answerData(c, await watches.run(principalOf(c), idOf(c)), 202),
  }),
  route('GET', '/v1/watches/:id/runs', {
    access: READS,
    described: {
      operationId: 'listRuns',
      summary: 'List the runs of a watch, newest first',
      params: watchId,
      query: pageOf('run'),
      answers: {
        200: {
          description: 'A page of runs.',
          data: z.object({
            runs: z.array(runSchema).meta({ description: 'runs, newest first', example: [] }),
            next_cursor: nextCursor,
          }),
        },
      },
      failures: { 400: 'The query is not valid.', ...NO_WATCH },
    },
    async handle(watches, c) {
      const { runs, next } = await watches.runs(principalOf(c), idOf(c), readPage(c, 'run'));
      return answerData(c, { runs, next_cursor: next });
    },
  }),
  route('GET', '/v1/watches/:id/runs/:run', {
    access: READS,
    described: {
      operationId: 'readRun',
      summary: 'Read a run, with what it has told',
      params: runId,
      answers: { 200: { description: 'The run.', data: runWithMessagesSchema } },
      failures: NO_RUN,
    },
    handle: async (watches, c) => answerData(c, await watches.readRun(principalOf(c), idOf(c), runIdOf(c))),
  }),
  route('POST', '/v1/watches/:id/runs/:run/approve', {
    access: WRITES,
    described: {
      operationId: 'approveRun',
      summary: 'Make a run the baseline of later ones',
      params: runId,
      answers: { 200: { description: 'The run.', data: runWithMessagesSchema } },
      failures: { ...NO_RUN, 409: 'The run has not succeeded.' },
    },
    handle: async (watches, c) => answerData(c, await watches.approve(principalOf(c), idOf(c), runIdOf(c))),
  }),
  route('POST', '/v1/watches/:id/runs/:run/redeliver', {
    access: WRITES,
    described: {
      operationId: 'redeliverRun',
      summary: 'Send what a run has told again',
      params: runId,
      answers: { 202: { description: 'The run.', data: runWithMessagesSchema } },
      failures: { ...NO_RUN, 409: 'The run has told nothing, or is still telling it.' },
    },
    handle: async (watches, c) => answerData(c, await watches.redeliver(principalOf(c), idOf(c), runIdOf(c)), 202),
  }),
  {
    method: 'GET',
    path: '/v1/watches/:id/feed',
    access: null,
    describe: () => ({
      operationId: 'readFeed',
      tags: ['watches'],
      summary: 'Read the runs of a watch as an Atom feed',
      description:
        'By `feed_url` of the watch, whose signature takes the place of an API key; or with a key with the scope `watches:read`.',
      params: watchId,
      query: z.object({ signature: z.string().optional().meta({ description: 'signature of `feed_url`' }) }),
      answers: { 200: { description: 'The feed.', types: ['application/atom+xml'] } },
      failures: {
        401: 'Neither a signature nor a key is given.',
        403: 'The signature is wrong.',
        ...NO_WATCH,
        429: 'Rate limit exceeded.',
      },
      ...EXTENSION,
    }),
    handle: (services) => async (c) => {
      const watches = await services.watches();
      const id = idOf(c);
      const signature = c.req.query('signature');
      if (signature === undefined) await guard(services, READS)(c, async () => undefined);
      const who = signature === undefined ? principalOf(c) : await watches.signedFeed(id, signature);
      if (who === null) throw failureOf(services, c, notSigned(), 'forbidden');
      if (signature !== undefined) {
        const verdict = takeToken(services, c, { principal: { ...who, scopes: [] }, meter: 'reads', takes: true });
        if (!verdict.allowed) throw keyLimited(verdict);
      }
      const { headers } = c.var.exchange;
      headers['content-type'] = 'application/atom+xml; charset=utf-8';
      return new Response(await watches.feed(who, id), { headers });
    },
  },
  unsubscribeRoute('GET'),
  unsubscribeRoute('POST'),
];

/** Stops the mail to a recipient: GET shows a page with a button, and POST is sent by that button or by mail programs (RFC 8058). */
function unsubscribeRoute(method: 'GET' | 'POST'): Route {
  return {
    method,
    path: '/v1/watches/:id/unsubscribe',
    access: null,
    handle: (services) => async (c) => {
      const { to = '', signature = '' } = c.req.query();
      const watches = await services.watches();
      const name = await watches.unsubscribe(idOf(c), { to, signature, confirmed: method === 'POST' });
      if (name === null) throw failureOf(services, c, notSigned(), 'forbidden');
      const { headers } = c.var.exchange;
      headers['content-type'] = 'text/html; charset=utf-8';
      headers['content-security-policy'] = "default-src 'none'; form-action 'self'; frame-ancestors 'none'";
      const message =
        method === 'POST'
          ? html`<p>${to} gets no more mail about “${name}”.</p>`
          : html`<p>Stop the mail about “${name}” to ${to}?</p><form method="post"><button>Stop these mails</button></form>`;
      const page = html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Stop these mails</title></head><body><main>${message}</main></body></html>`;
      return new Response(String(page), { headers });
    },
  };
}

function notSigned(): CaptureError {
  return new CaptureError({ code: 'forbidden', message: 'The link is not signed, or its signature is wrong.' });
}

/** @throws CaptureError `invalid_request` */
function readPage(c: Context<AppEnv>, kind: 'watch' | 'run'): WatchPage {
  const { limit: limitText, cursor } = c.req.query();
  const limit = limitText !== undefined && /^\d{1,4}$/.test(limitText) ? Number(limitText) : limitText;
  const page = parseFields(pageOf(kind), {
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  return { limit: page.limit, before: page.cursor ?? null };
}
