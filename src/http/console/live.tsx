/**
 * Announces changes of the parts of a page that follow the server, and lets the reader stop them. Such a part is an element with an id
 * and `data-live`, the page that it is read from again (in-browser/islands.ts).
 */
export function LiveStatus() {
  return (
    <div class="live">
      <p role="status" data-live-status />
      <button type="button" class="quiet" data-live-switch hidden>
        Pause updates
      </button>
    </div>
  );
}
