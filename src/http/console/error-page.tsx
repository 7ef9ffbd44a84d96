import type { StoredError } from '../../contract/capture-error.js';
import { Marked } from './marked.js';
import type { Page } from './visit.js';

/** A failed request, as the API would report it. */
export function errorPage(error: StoredError, requestId: string): Page {
  return {
    title: 'That did not work',
    section: null,
    status: error.status,
    body: (
      <section class="card narrow">
        <ErrorNotice error={error} />
        <p class="hint">
          Request <code>{requestId}</code>
        </p>
        <p>
          <a href="capture">Back to the console</a>
        </p>
      </section>
    ),
  };
}

export function ErrorNotice({ error }: { error: Pick<StoredError, 'code' | 'message'> }) {
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>
          <Marked text={error.message} />
        </strong>
      </p>
      <p>
        Error <a href={`../docs#${error.code}`}>{error.code}</a>
      </p>
    </div>
  );
}
