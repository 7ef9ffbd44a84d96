<?php

declare(strict_types=1);

namespace Stillframe;

/**
 * A client of one stillframe server. Calls throw a StillframeException. A request is an array with the fields of the API, and an answer is the API's `data`.
 *
 * @phpstan-type Request array{url?: string, html?: string, template?: string, data?: array<string, mixed>, format?: string, full_page?: bool,
 *   viewport?: array{width?: int, height?: int, deviceScaleFactor?: float}, ...}
 * @phpstan-type Picture array{job_id: string, cdn_url: string, format: string, width: int, height: int, bytes: int, ...}
 */
final class Stillframe
{
    /** Fields that the server refuses in links. */
    private const NO_LINK_FIELDS = ['proxy', 'custom_js', 'headers', 'sync', 'webhook', 'html', 'base_url', 'cookies', 'storage_state', 'selector_function',
        'annotate', 'extract', 'save_html', 'upload', 'steps', 'wait_for_function', 'http_credentials', 'captures', 'viewports', 'color_schemes'];

    private Transport $transport;

    /**
     * @param string $baseUrl address of the server; the API key is sent nowhere else
     * @param float $timeout seconds that a call may take, with its retries and its waiting
     * @param int $maxRetries how often a request is repeated after a failure that may pass
     */
    public function __construct(string $baseUrl, #[\SensitiveParameter] string $apiKey, private readonly float $timeout = 180.0, int $maxRetries = 4, float $firstPause = 0.5)
    {
        $url = parse_url($baseUrl) ?: [];
        if (!in_array($url['scheme'] ?? '', ['http', 'https'], true) || ($url['host'] ?? '') === '' || isset($url['user']) || strpbrk($baseUrl, '?# ') !== false) {
            throw Transport::invalid('`baseUrl` must be the http or https address of the server, such as https://shots.example.com.');
        }
        self::checkedText($apiKey, 'apiKey');
        if (!($timeout > 0 && $timeout < 2_147_483) || $maxRetries < 0) {
            throw Transport::invalid('`timeout` must be more than 0 and less than 25 days, and `maxRetries` 0 or more.');
        }
        $this->transport = new Transport(rtrim($baseUrl, '/'), $apiKey, $maxRetries, $firstPause);
    }

    /**
     * Captures a page and waits for the picture. After a CallTimeout, `wait($error->jobId)` resumes the call.
     * @param Request $request
     * @param array<string, string>|null $files contents of a document's files by relative path, one of them `index.html`, in place of `url` and `html`
     * @return Picture
     */
    public function capture(array $request, ?array $files = null, ?string $idempotencyKey = null, ?float $timeout = null): array
    {
        $end = $this->end($timeout);
        return $this->charged('/v1/screenshot', $request, $idempotencyKey, $files, $end, function (array $data, array $headers) use ($end): array {
            return isset($data['poll_url'], $data['job_id'])
                ? $this->waitUntil($data['job_id'], $end, Transport::retryAfter($headers) ?? 2 * $this->transport->firstPause)
                : self::picture($data, $headers['x-job-id'] ?? null);
        });
    }

    /**
     * Submits a capture without waiting for it, and returns the id of its job. Use `wait` or a webhook to get the result.
     * @param Request $request
     */
    public function submit(array $request, ?array $files = null, ?string $idempotencyKey = null, ?float $timeout = null): string
    {
        $id = static fn (array $data, array $headers): string => $data['job_id'] ?? self::picture($data, $headers['x-job-id'] ?? null)['job_id'];
        return $this->charged('/v1/screenshot?mode=async', $request, $idempotencyKey, $files, $this->end($timeout), $id);
    }

    /** Waits for the picture of a job. Throws the error of the capture, if it failed. */
    public function wait(string $jobId, ?float $timeout = null): array { return $this->waitUntil($jobId, $this->end($timeout), 0); }
    /** Looks up a job, whatever its state. */
    public function job(string $id): array { return $this->call('GET', self::path('/v1/jobs', $id)); }
    /** Looks up the job that was submitted with an idempotency key. */
    public function jobByKey(string $idempotencyKey): array { return $this->call('GET', self::path('/v1/requests', $idempotencyKey)); }

    /** Lists a page of the key's jobs, newest first. The query may have `state`, `limit` and the `cursor` of the page, as that of all lists. */
    public function jobs(array $query = []): array { return $this->list('/v1/jobs', $query); }

    /** Lists all of the key's jobs, newest first, page after page. */
    public function eachJob(array $query = []): \Generator
    {
        do {
            $page = $this->jobs($query);
            foreach ($page['jobs'] as $job) {
                yield $job;
            }
            $query['cursor'] = $page['next_cursor'];
        } while ($query['cursor'] !== null);
    }

    /** Cancels a job that has not ended, which then costs nothing, or deletes the pictures of one that has. */
    public function removeJob(string $id): array { return $this->call('DELETE', self::path('/v1/jobs', $id)); }
    /** Compares two pictures, `before` and `after`: ids of jobs, addresses of pictures, pictures in base64, or capture requests, which are charged as usual. */
    public function compare(array $request, ?string $idempotencyKey = null): array { return $this->charged('/v1/compare', $request, $idempotencyKey); }

    /**
     * Merges, splits and changes PDFs: those of `uploads`, by name, of jobs, or at addresses of the server. Nothing is stored.
     * @return array{content: string, type: string, pages: int|null} a PDF, or a zip file with several, which has no `pages`
     */
    public function pdf(array $request, array $uploads = []): array
    {
        [$body, $headers] = self::form($request, $uploads);
        [$status, $headers, $content] = $this->transport->send('POST', '/v1/pdf', $this->end(null), $headers, $body, limit: null);
        $type = $headers['content-type'] ?? '';
        if (!in_array($type, ['application/pdf', 'application/zip'], true)) {
            throw Transport::unexpected($status, $content, $headers);
        }
        return ['content' => $content, 'type' => $type, 'pages' => isset($headers['x-pages']) ? (int) $headers['x-pages'] : null];
    }

    /** Downloads the file at the `cdn_url` of a picture. Needs no API key, and sends none. A download that breaks off is repeated. */
    public function download(string $address): string { return $this->transport->send('GET', $address, $this->end(null), limit: null)[2]; }
    /** Downloads as `download` does, to a file that is replaced only once the download is whole. */
    public function downloadTo(string $address, string $file): void { $this->transport->send('GET', $address, $this->end(null), file: $file); }
    /** Submits many captures, all or none, without waiting for them. Use `waitForBatch` or a webhook to learn of their end. */
    public function submitBatch(array $request, ?string $idempotencyKey = null): array { return $this->charged('/v1/batches', $request, $idempotencyKey); }
    /** Looks up a batch with a page of its captures, failed ones first. */
    public function batch(string $id, array $query = []): array { return $this->list(self::path('/v1/batches', $id), $query); }

    /** Waits for the end of a batch. Its captures may have failed: see `counts`. */
    public function waitForBatch(string $id, ?float $timeout = null): array
    {
        for ($end = $this->end($timeout); ; Transport::pause(4 * $this->transport->firstPause, $end)) {
            [$batch] = $this->read('GET', self::path('/v1/batches', $id) . '?limit=1', $end);
            if (($batch['state'] ?? null) === 'completed') {
                return array_diff_key($batch, ['captures' => 0, 'next_cursor' => 0]);
            }
        }
    }

    /** Downloads the pictures of a batch as a zip file, which is replaced only once the download is whole. */
    public function batchPicturesTo(string $id, string $file): void { $this->downloadTo(self::path('/v1/batches', $id) . '/pictures.zip', $file); }
    /** Cancels a batch with its captures that have not ended, and deletes the pictures of the others. */
    public function removeBatch(string $id): void { $this->call('DELETE', self::path('/v1/batches', $id)); }

    /** Stores the next version of a template, whose `$files` have their contents by relative path. The same files as before make no new version. */
    public function pushTemplate(string $name, array $files): array
    {
        [$body, $headers] = self::form(null, $files);
        return $this->read('PUT', self::path('/v1/templates', $name), $this->end(null), $headers, $body)[0];
    }

    /** Lists the templates of the account by name. */
    public function templates(): array { return $this->call('GET', '/v1/templates')['templates']; }
    /** Reads a template such as `og-card`, or a version such as `og-card@3`. */
    public function template(string $name): array { return $this->call('GET', self::path('/v1/templates', $name)); }
    /** Deletes a template, or one of its versions except the newest. */
    public function deleteTemplate(string $name): void { $this->call('DELETE', self::path('/v1/templates', $name)); }
    /** Reads the delivery status of a job's webhook. */
    public function delivery(string $jobId): array { return $this->delivered('GET', $jobId, '', []); }

    /** Sends the result of a job to its webhook again. Without the `etag` of a delivery status, the current one is read first. */
    public function redeliver(string $jobId, ?string $etag = null): array
    {
        $etag = self::checkedText($etag ?? $this->delivery($jobId)['etag'], 'etag');
        return $this->delivered('POST', $jobId, '/redeliver', ['If-Match' => $etag]);
    }

    /** Watches a page. Not repeated after a lost answer, since each call makes a watch. */
    public function createWatch(array $request): array { return $this->call('POST', '/v1/watches', $request); }
    /** Lists a page of the key's watches, newest first. */
    public function watches(array $query = []): array { return $this->list('/v1/watches', $query); }
    /** Reads a watch. */
    public function watch(string $id): array { return $this->call('GET', self::path('/v1/watches', $id)); }
    /** Changes fields of a watch, such as `paused`. */
    public function changeWatch(string $id, array $changes): array { return $this->call('PATCH', self::path('/v1/watches', $id), $changes); }
    /** Removes a watch with its history. */
    public function removeWatch(string $id): void { $this->call('DELETE', self::path('/v1/watches', $id)); }
    /** Runs a watch now, or returns the run that has not ended yet. */
    public function runWatch(string $id): array { return $this->call('POST', self::path('/v1/watches', $id) . '/run', []); }
    /** Lists a page of the runs of a watch, newest first. */
    public function runs(string $watchId, array $query = []): array { return $this->list(self::path('/v1/watches', $watchId) . '/runs', $query); }
    /** Reads a run with its messages. */
    public function run(string $watchId, string $id): array { return $this->call('GET', self::runPath($watchId, $id)); }
    /** Makes a run the baseline of later ones. */
    public function approveRun(string $watchId, string $id): array { return $this->call('POST', self::runPath($watchId, $id) . '/approve', []); }
    /** Sends the messages of a run again. */
    public function redeliverRun(string $watchId, string $id): array { return $this->call('POST', self::runPath($watchId, $id) . '/redeliver', []); }
    /** Reads the credits and jobs of the account in this period. */
    public function usage(): array { return $this->call('GET', '/v1/usage'); }

    /** Reports whether the server is `ready` to capture, and if not, why. */
    public function health(): array
    {
        [$data, , $status] = $this->read('GET', '/v1/health', $this->end(null), alsoReads: 503);
        return [...$data, 'ready' => $status === 200];
    }

    /** Calls any other endpoint, and returns the `data` of its answer. POST requests are not repeated after a lost answer. */
    public function call(string $method, string $path, ?array $body = null): array
    {
        return $this->read($method, $path, $this->end(null), [], $body === null ? null : self::json($body), $method === 'POST')[0];
    }

    /** Escapes an id, and appends it to a path of the API. */
    public static function path(string $of, string $id): string { return "$of/" . rawurlencode($id); }

    /**
     * Makes an address that shows the picture without an API key, for `<img src>` and Open Graph tags. Makes no request.
     * @param Request $request
     * @param string $keyId id of the API key that the captures are charged to, `key_…`
     * @param string $signingSecret what `stillframe keys signing-secret` prints
     * @param int $expiresIn seconds from now
     */
    public function signLink(array $request, string $keyId, #[\SensitiveParameter] string $signingSecret, int $expiresIn): string
    {
        foreach (self::NO_LINK_FIELDS as $name) {
            if (isset($request[$name])) {
                throw Transport::invalid("A link must not have `$name`.");
            }
        }
        if ($keyId === '' || $signingSecret === '' || $expiresIn <= 0) {
            throw Transport::invalid('A link needs the id of a key, a signing secret, and a number of seconds that is more than 0.');
        }
        $query = self::canonicalQuery([...self::pairs($request, ''), ['key', $keyId], ['expires', (string) (time() + $expiresIn)]]);
        return "{$this->transport->baseUrl}/v1/render?$query&signature=" . self::sign($signingSecret, $query);
    }

    /**
     * Verifies the signature of a webhook request in constant time, and returns its event. A request can be repeated within the tolerance: recognize it by its `delivery_id` and `delivery_generation`.
     * @param string $body exactly as received: file_get_contents('php://input')
     * @param string $signature the header X-Service-Signature: $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? ''
     * @param string|list<string> $secret the `webhook.secret` of the submission; several while you change it
     * @return array<string, mixed>
     */
    public static function verifyWebhook(string $body, string $signature, #[\SensitiveParameter] string|array $secret, int $toleranceSeconds = 300, ?int $now = null): array
    {
        $isFormed = preg_match('/^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/D', $signature, $match) === 1;
        $genuine = false;
        // All secrets are tried, so that the time does not tell which one matches.
        foreach ((array) $secret as $one) {
            $genuine = ($isFormed && $one !== '' && hash_equals(self::sign($one, "$match[1].$body"), $match[2])) || $genuine;
        }
        if (!$genuine) {
            throw new InvalidSignature('invalid_signature', 'The header X-Service-Signature is missing, malformed, or not that of the body.');
        }
        if (abs(($now ?? time()) - (int) $match[1]) > $toleranceSeconds) {
            throw new InvalidSignature('invalid_signature', 'The timestamp is too far from the present.');
        }
        $event = json_decode($body, true);
        return is_array($event) ? $event : throw new UnexpectedResponse('unexpected_response', 'The body is not that of an event.');
    }

    /** Returns the signed text: sorted by name (repeated names keep their order), in the encoding of RFC 3986. */
    public static function canonicalQuery(array $pairs): string
    {
        $encoded = array_map(static fn (array $pair): array => array_map('rawurlencode', $pair), $pairs);
        usort($encoded, static fn (array $one, array $other): int => strcmp($one[0], $other[0]));
        return implode('&', array_map(static fn (array $pair): string => "$pair[0]=$pair[1]", $encoded));
    }

    /** Returns the HMAC-SHA256 in hex. */
    public static function sign(#[\SensitiveParameter] string $secret, string $content): string { return hash_hmac('sha256', $content, $secret); }

    /** Flattens fields to pairs, such as `viewport.width=800`, with repeated names for lists. */
    private static function pairs(array $fields, string $prefix): array
    {
        $pairs = [];
        foreach ($fields as $name => $value) {
            if (is_array($value) && !array_is_list($value)) {
                array_push($pairs, ...self::pairs($value, "$prefix$name."));
            } elseif ($value !== null) {
                foreach (is_array($value) ? $value : [$value] as $item) {
                    if (!is_scalar($item)) {
                        throw Transport::invalid("`$prefix$name` is a list of objects, which a link cannot have.");
                    }
                    $pairs[] = ["$prefix$name", is_string($item) ? $item : (string) json_encode($item)];
                }
            }
        }
        return $pairs;
    }

    /** Sends what costs credits, with an idempotency key, which errors have as well, and returns the answer's data, or what `$read` makes of it. */
    private function charged(string $to, array $request, ?string $key, ?array $files = null, ?float $end = null, ?callable $read = null): mixed
    {
        $key ??= bin2hex(random_bytes(16));
        try {
            [$body, $headers] = $files === null ? [self::json($request), []] : self::form($request, $files);
            $headers['Idempotency-Key'] = self::checkedText($key, 'idempotencyKey');
            [$data, $received] = $this->read('POST', $to, $end ?? $this->end(null), $headers, $body);
            return $read === null ? $data : $read($data, $received);
        } catch (StillframeException $error) {
            $error->idempotencyKey = $key;
            throw $error;
        }
    }

    private function waitUntil(string $jobId, float $end, float $after): array
    {
        $pause = 2 * $this->transport->firstPause;
        try {
            for (Transport::pause($after, $end); ; $pause = min(5.0, $pause * 1.3)) {
                [$job, $headers] = $this->read('GET', self::path('/v1/jobs', $jobId), $end);
                $result = $job['result'] ?? null;
                if (is_array($result['error'] ?? null)) {
                    throw StillframeException::reported($result['error'], null, null, $jobId);
                }
                if ($result !== null) {
                    return self::picture($result['data'] ?? [], $jobId);
                }
                $asked = Transport::retryAfter($headers);
                Transport::pause($asked === null ? $pause : max($asked, 2 * $this->transport->firstPause), $end);
            }
        } catch (StillframeException $error) {
            $error->jobId ??= $jobId;
            throw $error;
        }
    }

    private function delivered(string $method, string $jobId, string $action, array $headers): array
    {
        [$data, $received] = $this->read($method, self::path('/v1/jobs', $jobId) . "/webhook$action", $this->end(null), $headers, once: $method === 'POST');
        return [...$data, 'etag' => $received['etag'] ?? ''];
    }

    private function list(string $path, array $query): array { return $this->call('GET', $path . ($query === [] ? '' : '?' . http_build_query($query))); }
    private static function runPath(string $watchId, string $id): string { return self::path(self::path('/v1/watches', $watchId) . '/runs', $id); }

    /** @return array{array<string, mixed>, array<string, string>, int} data, headers and status */
    private function read(string $method, string $to, float $end, array $headers = [], ?string $body = null, bool $once = false, ?int $alsoReads = null): array
    {
        [$status, $received, $content] = $this->transport->send($method, $to, $end, $headers, $body, $once, alsoReads: $alsoReads);
        $data = json_decode($content, true)['data'] ?? null;
        if (!is_array($data) || ($data !== [] && array_is_list($data))) {
            throw Transport::unexpected($status, $content, $received);
        }
        return [$data, $received, $status];
    }

    private static function picture(array $data, ?string $jobId): array
    {
        return is_string($data['cdn_url'] ?? null) && $jobId !== null
            ? [...$data, 'job_id' => $jobId]
            : throw new UnexpectedResponse('unexpected_response', 'The capture has no `cdn_url`, or no job.');
    }

    private function end(?float $timeout): float { return Transport::now() + ($timeout ?? $this->timeout); }
    private static function checkedText(string $text, string $name): string
    {
        return preg_match('/^[\x21-\x7e]+$/D', $text) === 1 ? $text : throw Transport::invalid("`$name` must be printable ASCII characters without spaces.");
    }

    private static function json(array $request): string
    {
        try {
            return json_encode($request === [] ? new \stdClass() : $request, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
        } catch (\JsonException $error) {
            throw Transport::invalid("The request cannot be written as JSON: {$error->getMessage()}.");
        }
    }

    /** @return array{string, array<string, string>} body and headers of a form */
    private static function form(?array $request, array $files): array
    {
        $boundary = bin2hex(random_bytes(16));
        $body = $request === null ? '' : "--$boundary\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" . self::json($request) . "\r\n";
        foreach ($files as $name => $content) {
            $quoted = strtr((string) $name, ['"' => '%22', "\r" => '%0D', "\n" => '%0A']);
            $body .= "--$boundary\r\nContent-Disposition: form-data; name=\"files\"; filename=\"$quoted\"\r\n\r\n$content\r\n";
        }
        return ["$body--$boundary--\r\n", ['Content-Type' => "multipart/form-data; boundary=$boundary"]];
    }
}
