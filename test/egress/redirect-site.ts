import type { IncomingMessage, ServerResponse } from 'node:http';

/** Every way in which a page sends its visitor elsewhere. */
export const REDIRECT_KINDS = ['301', '302', '303', '307', '308', 'refresh', 'meta', 'script', 'form'] as const;
export type RedirectKind = (typeof REDIRECT_KINDS)[number];

/** Path of a chain of redirects of one kind: `hops` of them, the last one to `end`. */
export function redirectPath(kind: RedirectKind, hops: number, end: string): string {
  return `/${kind}/${hops}?to=${encodeURIComponent(end)}`;
}

/** Answers what redirectPath names. */
export function answerRedirect(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
  const [, kind = '', count = ''] = pathname.split('/');
  const end = searchParams.get('to') ?? '';
  const location = Number(count) > 1 ? redirectPath(kind as RedirectKind, Number(count) - 1, end) : end;
  response.setHeader('content-type', 'text/html');
  if (/^\d+$/.test(kind)) return void response.writeHead(Number(kind), { location }).end();
  if (kind === 'refresh') return void response.writeHead(200, { refresh: `0;url=${location}` }).end('x');
  const pages: Record<string, string> = {
    meta: `<meta http-equiv="refresh" content="0;url=${location}">`,
    script: `<script>location.href=${JSON.stringify(location)}</script>`,
    form: `<form method="post" action="${location}"></form><script>document.forms[0].submit()</script>`,
  };
  response.end(pages[kind] ?? '');
}
