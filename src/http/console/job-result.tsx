import type { CaptureData, Inspection, NamedCapture } from '../../contract/capture-data.js';
import { type ErrorDetails, toWireDetails } from '../../contract/capture-error.js';
import { HTML_JOB_URL } from '../../contract/capture-request.js';
import type { JobResult as Ended, JobSnapshot } from '../../contract/job.js';
import { ErrorNotice, Facts } from './components.js';
import { amount, bytes, duration } from './say.js';
import { isDocument, pictureAt, viewerOf } from './viewer.js';

interface JobResultProps {
  job: JobSnapshot;
  baseUrl: string;
  /** Whether it stands above the form that asked for it, and not on the job's own page. */
  aboveForm: boolean;
}

/** A job's picture or failure; what a page says in them is data. While it runs, the part follows the server. */
export function JobResult({ job, baseUrl, aboveForm }: JobResultProps) {
  const { result } = job;
  const summary = summaryOf(job);
  if (result === null) {
    return (
      <section
        id="result"
        class="card result"
        data-live={`job?id=${job.id}${aboveForm ? '&form=1' : ''}`}
        data-summary={summary}
      >
        <h2>{summary}</h2>
        <progress max="100" value={job.progress} aria-label="Progress" />
        {aboveForm ? (
          <p>
            <a href={`job?id=${job.id}`}>Follow the job</a>
          </p>
        ) : null}
      </section>
    );
  }
  const { outcome } = result;
  return (
    <section id="result" class="card result" data-summary={summary}>
      <h2>{summary}</h2>
      {outcome.ok ? <Taken data={outcome.data} baseUrl={baseUrl} /> : <ErrorNotice error={outcome.error} />}
      {outcome.ok || outcome.error.details === undefined ? null : (
        <Details details={outcome.error.details} baseUrl={baseUrl} />
      )}
      <p class="pages">
        {aboveForm ? (
          <a href={`job?id=${job.id}`}>
            Job <code>{job.id}</code>
          </a>
        ) : null}
        <Again {...{ job, outcome, aboveForm }} />
      </p>
    </section>
  );
}

/** The details of a failure, with the picture of the page if there is one. */
function Details({ details, baseUrl }: { details: ErrorDetails; baseUrl: string }) {
  const { artifact } = details;
  return (
    <>
      {typeof artifact === 'string' ? (
        <a class="picture" href={`pictures/${artifact}`}>
          <img src={`pictures/${artifact}`} alt="What the page looked like when the capture failed" />
        </a>
      ) : null}
      <Text text={JSON.stringify(toWireDetails(details, baseUrl), null, 2)} />
    </>
  );
}

/** Leads to the form, with the URL if the other options are not known any more. */
function Again({ job, outcome, aboveForm }: { job: JobSnapshot; outcome: Ended['outcome']; aboveForm: boolean }) {
  if (aboveForm && !outcome.ok) {
    return (
      <button type="submit" form="capture">
        Try again
      </button>
    );
  }
  const url = outcome.ok ? outcome.data.url : job.url;
  // The document is not known any more, and its `base_url` is another page.
  if (url === HTML_JOB_URL || job.url === HTML_JOB_URL) return null;
  return (
    <>
      <a href={`capture?url=${encodeURIComponent(url)}`}>{outcome.ok ? 'Capture this page again' : 'Try again'}</a>
      {outcome.ok && !isDocument(outcome.data.format) ? (
        <a href={`compare?before=${job.id}`}>Compare with another picture</a>
      ) : null}
    </>
  );
}

/** Summarizes a job for a heading and for announcements. */
function summaryOf({ state, result, progress }: JobSnapshot): string {
  if (result?.outcome.ok === true)
    return `${result.outcome.data.format === 'pdf' ? 'The PDF' : 'The picture'} is ready`;
  if (result !== null) return 'The capture failed';
  return state === 'active' ? `Capturing, ${progress} %` : `Waiting (${state})`;
}

function Taken({ data, baseUrl }: { data: CaptureData; baseUrl: string }) {
  const { captures, inspection, extraction, htmlArtifact: html, notes, format, diagnostics } = data;
  return (
    <>
      {isDocument(format) ? (
        <p>
          <a class="button" href={pictureAt(data.artifact)}>
            {format === 'pdf' ? 'Open the PDF' : 'Open the video'}
          </a>
        </p>
      ) : (
        viewerOf(data)
      )}
      <Facts
        wide
        of={[
          ['Ended at', data.finalUrl === data.url ? null : data.finalUrl],
          ['Size', `${amount(data.width)} × ${amount(data.height)} ${format === 'pdf' ? 'CSS px' : 'px'}`],
          ['File', `${format}, ${bytes(data.bytes)}`],
          ['Shows', `${EXTENTS[diagnostics.stoppedReason]}${diagnostics.truncated ? ': the page is longer' : ''}`],
          ['Taken in', data.cached ? 'no time: it came from the cache' : duration(data.durationMs)],
          ['Requests blocked', data.blockedRequests === 0 ? 'none' : amount(data.blockedRequests)],
          ['Captured from', data.egressCountry],
          ['Upload', uploadOf(data)],
          ['Link', <code>{`${baseUrl}/artifacts/${data.artifact}`}</code>],
          ['HTML', html === undefined ? null : <a href={pictureAt(html)}>Open the HTML as text</a>],
        ]}
      />
      {captures === undefined ? null : <Further captures={captures.slice(1)} />}
      {notes?.warnings?.map(({ code, message }) => (
        <p class="notice">
          {message} ({code})
        </p>
      ))}
      {extraction === undefined ? null : (
        <details>
          <summary>Values of the page</summary>
          <Text text={JSON.stringify(extraction.values, null, 2)} />
        </details>
      )}
      {inspection === null ? null : (
        <>
          <details>
            <summary>Markdown of the page</summary>
            <Text text={inspection.markdown} />
          </details>
          <details>
            <summary>Accessibility tree of the page</summary>
            <Text text={inspection.accessibleTree} />
          </details>
          <PageFactsSections {...inspection} />
        </>
      )}
    </>
  );
}

/** Describes the extent of a picture, by the reason why it ends there. */
const EXTENTS: Record<CaptureData['diagnostics']['stoppedReason'], string> = {
  viewport: 'the view',
  element: 'an element or a part',
  end_of_page: 'the whole page',
  max_height: 'the page up to the greatest height',
  format_limit: 'as much as the format allows',
  time_limit: 'as much as the time allowed',
};

function uploadOf({ upload }: CaptureData): string | null {
  if (upload === undefined) return null;
  return upload.error === null ? `put to ${upload.url}` : `${upload.url} failed: ${upload.error}`;
}

/** Facts as the API has them; the elements have the numbers of an annotated picture. */
function PageFactsSections({ facts, elements }: Inspection) {
  return (
    <>
      {facts === undefined ? null : (
        <details>
          <summary>Facts about the page</summary>
          <Text text={JSON.stringify(facts, null, 2)} />
        </details>
      )}
      {!elements || elements.length === 0 ? null : (
        <details>
          <summary>Elements that can be acted on</summary>
          <Text
            text={elements
              .map(({ ref, role, name }, index) => `${index + 1} ${role} ${JSON.stringify(name)} ${ref}`)
              .join('\n')}
          />
        </details>
      )}
    </>
  );
}

/** The pictures after the first, each with its name and a link to its file. */
function Further({ captures }: { captures: readonly NamedCapture[] }) {
  return (
    <>
      {captures.map(({ name, artifact, format, width, height, bytes: size }) => (
        <details>
          <summary>{`${name}: ${amount(width)} × ${amount(height)} ${format === 'pdf' ? 'CSS px' : 'px'}, ${format}, ${bytes(size)}`}</summary>
          {format === 'pdf' ? (
            <a class="button" href={`pictures/${artifact}`}>
              Open the PDF
            </a>
          ) : (
            <a class="picture" href={`pictures/${artifact}`}>
              <img src={`pictures/${artifact}`} alt={name} width={width} height={height} loading="lazy" />
            </a>
          )}
        </details>
      ))}
    </>
  );
}

function Text({ text }: { text: string }) {
  return (
    <pre>
      <code>{text}</code>
    </pre>
  );
}
