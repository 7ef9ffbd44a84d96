/** Clients of several servers that take turns, as behind a load balancer which only knows that a connection was refused. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';

export interface CallersOptions {
  clients: number;
  key: string;
  /** Of the servers; read at each request. */
  doors: readonly string[];
  /** Of a page that was not captured yet. */
  page(): string;
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  body: any;
}

/** An idle connection that the server closes as a request arrives on it is a race of HTTP, not a failure of the server. */
const agent = new Agent({ keepAlive: false });
const FOLLOW_MS = 100;

export class Callers {
  readonly counts = { answered: 0, refused: 0, reset: 0 };
  readonly problems: string[] = [];
  #turn = 0;
  #stopped = false;
  readonly #loops: Promise<void>[];

  constructor(private readonly options: CallersOptions) {
    this.#loops = Array.from({ length: options.clients }, (_, i) => this.#call(i));
  }

  /** Resolves when everything that was submitted has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #call(client: number): Promise<void> {
    while (!this.#stopped) {
      const isAsync = client % 2 === 1;
      const body = JSON.stringify({ url: this.options.page(), cache_ttl: 0, sync: !isAsync });
      const answer = await this.#ask('POST', '/v1/screenshot', body);
      if (answer.status === 200) await this.#look(new URL(answer.body.data.cdn_url).pathname);
      else if (answer.status === 202) await this.#follow(answer.body.data.job_id);
      else this.#blame('a submission', answer);
    }
  }

  async #follow(jobId: string): Promise<void> {
    for (;;) {
      const answer = await this.#ask('GET', `/v1/jobs/${jobId}`);
      if (answer.status !== 200) return this.#blame('a look-up', answer);
      if (answer.body.data.state === 'completed') return;
      if (answer.body.data.state === 'failed') return this.#blame('a job', answer);
      await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
    }
  }

  async #look(path: string): Promise<void> {
    const answer = await this.#ask('GET', path);
    if (answer.status !== 200) this.#blame('a picture', answer);
  }

  #blame(what: string, { status, body }: Answer): void {
    this.problems.push(`${what} was answered ${status} ${JSON.stringify(body)?.slice(0, 300)}`);
  }

  /** Goes on to the next server when a connection is refused or reset; any other failure of a connection is a problem. */
  async #ask(method: string, path: string, body?: string): Promise<Answer> {
    const idempotencyKey = randomUUID();
    for (;;) {
      const door = this.options.doors[this.#turn++ % this.options.doors.length] ?? '';
      try {
        const answer = await send({ method, url: `${door}${path}`, key: this.options.key, body, idempotencyKey });
        this.counts.answered += 1;
        return answer;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') this.counts.refused += 1;
        // Never accepted: the system resets what has come since a server last looked when it closes its socket. Repeating is safe by the
        // idempotency key.
        else if (code === 'ECONNRESET') this.counts.reset += 1;
        else this.problems.push(`${method} ${path}: ${code ?? message}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }
}

interface Call {
  method: string;
  url: string;
  key: string;
  body: string | undefined;
  idempotencyKey: string;
}

function send({ method, url, key, body, idempotencyKey }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
    const sent = request(url, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => resolve({ status: response.statusCode ?? 0, body: asJson(Buffer.concat(chunks)) }))
        .on('error', reject);
    });
    sent.on('error', reject).end(body);
  });
}

function asJson(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return null;
  }
}
