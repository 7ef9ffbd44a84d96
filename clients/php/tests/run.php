<?php

/** Runs all tests with `php tests/run.php`. Those with a server need test/clients/clients.test.ts, which starts one, and a stand-in. */

declare(strict_types=1);

use Stillframe\{CallTimeout, CaptureFailed, ConnectionFailed, InvalidRequest, InvalidSignature, LimitExceeded, NotAllowed, Stillframe, StillframeException, UnexpectedResponse};

array_map(static fn (string $file) => require __DIR__ . "/../src/$file.php", ['errors', 'Transport', 'Stillframe']);
set_error_handler(static fn (int $level, string $message, string $file, int $line) => error_reporting() & $level ? throw new ErrorException($message, 0, $level, $file, $line) : false);

const SECRET = 'a secret of the receiver';
const URL = ['url' => 'https://example.com'];
const CAPTURED = [200, ['x-job-id' => 'job_1'], '{"data":{"cdn_url":"http://127.0.0.1/x.png","format":"png"}}'];
const ACCEPTED = [202, ['retry-after' => '0'], '{"data":{"job_id":"job_1","state":"waiting","poll_url":"/v1/jobs/job_1"}}'];

$passed = 0;

function same(mixed $expected, mixed $actual): void
{
    global $passed;
    if ($expected !== $actual) {
        throw new Exception('Expected ' . var_export($expected, true) . ', but got ' . var_export($actual, true));
    }
    $passed++;
}

/** @param class-string<Throwable> $class */
function thrown(string $class, callable $work): StillframeException
{
    try {
        $result = $work();
    } catch (StillframeException $error) {
        same($class, $error::class);
        return $error;
    }
    throw new Exception("Expected $class, but got " . var_export($result, true));
}

/** Returns the address of a stand-in that answers as scripted, the last answer for all further requests. */
function scripted(mixed ...$reactions): string
{
    return getenv('TEST_STAND_IN_URL') . '/' . rtrim(strtr(base64_encode(json_encode($reactions)), '+/', '-_'), '=') . '/' . bin2hex(random_bytes(8));
}

/** @return list<array{method: string, path: string, headers: array<string, string>, body: string}> */
function requests(string $url): array
{
    return json_decode(file_get_contents("$url/log"), true);
}

function client(string $url, float $timeout = 60.0, int $maxRetries = 4): Stillframe
{
    return new Stillframe($url, 'sf_live_test', $timeout, $maxRetries, 0.01);
}

function failure(int $status, string $code, bool $retriable = false, array $details = [], array $headers = []): array
{
    return [$status, $headers, json_encode(['error' => ['code' => $code, 'message' => 'No.', 'retriable' => $retriable, 'details' => (object) $details]])];
}

function signature(string $body, int $at = 1_700_000_000, string $secret = SECRET): string
{
    return "t=$at,v1=" . hash_hmac('sha256', "$at.$body", $secret);
}

$tests = [
    'a capture is repeated with the same key' => function () {
        foreach (['cut', 'cut in body', [502, [], '<h1>Bad gateway'], failure(503, 'internal_error', true, [], ['retry-after' => '0']), failure(429, 'rate_limited', true, [], ['retry-after' => '0'])] as $bad) {
            same('job_1', client($url = scripted($bad, CAPTURED))->capture(URL)['job_id']);
            [$one, $two] = array_column(requests($url), 'headers');
            same([$one['idempotency-key'], 'Bearer sf_live_test'], [$two['idempotency-key'], $two['authorization']]);
        }
    },
    'other failures are not repeated' => function () {
        foreach ([
            [failure(400, 'invalid_request', false, ['issues' => []]), InvalidRequest::class],
            [failure(401, 'unauthorized'), NotAllowed::class],
            [failure(402, 'quota_exceeded'), LimitExceeded::class],
            [failure(502, 'render_incomplete', true, ['job_id' => 'job_1']), CaptureFailed::class],
            [[200, [], '<h1>Welcome'], UnexpectedResponse::class],
            [[200, [], '{"data":[1]}'], UnexpectedResponse::class],
            [[302, ['location' => 'http://127.0.0.9/'], ''], UnexpectedResponse::class],
        ] as [$bad, $class]) {
            $error = thrown($class, fn () => client($url = scripted($bad))->capture(URL, idempotencyKey: 'order-4711'));
            same('order-4711', $error->idempotencyKey);
        }
        thrown(UnexpectedResponse::class, fn () => client($url = scripted([200, [], '']))->capture(URL));
    },
    'retries end' => function () {
        thrown(ConnectionFailed::class, fn () => client($GLOBALS['url'] = scripted('cut'), maxRetries: 2)->call('GET', '/v1/usage'));
        same(3, count(requests($GLOBALS['url'])));
        $asked = scripted(failure(503, 'internal_error', true, [], ['retry-after' => '60']));
        same(60.0, thrown(StillframeException::class, fn () => client($asked, 30)->call('GET', '/v1/usage'))->retryAfter);
        same(1, count(requests($asked)));
        $once = scripted('cut', [200, [], '{"data":{}}']);
        thrown(ConnectionFailed::class, fn () => client($once)->call('POST', '/v1/watches', []));
        same(['{}'], array_column(requests($once), 'body'));
        $refused = failure(402, 'quota_exceeded');
        same(['id' => 'bat_1'], client($again = scripted('cut', [200, [], '{"data":{"id":"bat_1"}}'], $refused))->submitBatch([], 'march'));
        same(['march', 'march'], array_map(fn ($headers) => $headers['idempotency-key'], array_column(requests($again), 'headers')));
        same(32, strlen(thrown(LimitExceeded::class, fn () => client(scripted($refused))->compare([]))->idempotencyKey));
        thrown(ConnectionFailed::class, fn () => client($sent = scripted('cut', [200, [], '{"data":{}}']))->redeliver('job_1', '"dlv_1.1"'));
    },
    'an accepted job is polled until it has ended' => function () {
        $url = scripted(ACCEPTED, [200, [], '{"data":{"id":"job_1"}}'], [200, [], '{"data":{"id":"job_1","result":{"data":{"cdn_url":"http://127.0.0.1/x.png"}}}}']);
        same('job_1', client($url)->capture(URL)['job_id']);
        same(['/v1/screenshot', '/v1/jobs/job_1', '/v1/jobs/job_1'], array_column(requests($url), 'path'));
        $url = scripted(ACCEPTED, [200, [], '{"data":{"id":"job_1","result":{"error":{"code":"render_timeout","message":"No.","retriable":true}}}}']);
        $error = thrown(CaptureFailed::class, fn () => client($url)->capture(URL));
        same(['render_timeout', 'job_1', null], [$error->errorCode, $error->jobId, $error->status]);
    },
    'a call ends after its timeout with the job to wait for' => function () {
        foreach (['silent', [200, ['retry-after' => '30'], '{"data":{"id":"job_1"}}']] as $slow) {
            $began = microtime(true);
            same('job_1', thrown(CallTimeout::class, fn () => client(scripted(ACCEPTED, $slow))->capture(URL, timeout: 1.0))->jobId);
            same(true, microtime(true) - $began < 25);
        }
        $silent = scripted('silent');
        for ($i = 0; $i < 40; $i++) {
            thrown(CallTimeout::class, fn () => client($silent, 0.0206)->call('GET', '/v1/usage'));
        }
    },
    'a download has its name only once it is whole' => function () {
        mkdir($directory = sys_get_temp_dir() . '/stillframe-php-' . bin2hex(random_bytes(8)));
        try {
            file_put_contents("$directory/x.png", 'before');
            $url = scripted('cut in body');
            thrown(ConnectionFailed::class, fn () => client($url, maxRetries: 0)->downloadTo("$url/x.png", "$directory/x.png"));
            same(['before', 3], [file_get_contents("$directory/x.png"), count(scandir($directory))]);
            $url = scripted('cut in body', [302, ['location' => '/' . substr($url = scripted([200, [], 'whole']), strlen(getenv('TEST_STAND_IN_URL')) + 1) . '/there.png'], '']);
            client($url)->downloadTo("$url/x.png", "$directory/x.png");
            same(['whole', 3], [file_get_contents("$directory/x.png"), count(scandir($directory))]);
            same([false, false], array_map(fn ($headers) => isset($headers['authorization']), array_column(requests($url), 'headers')));
            $empty = scripted([200, [], '']);
            client($empty)->downloadTo("$empty/x.png", "$directory/x.png");
            same('', file_get_contents("$directory/x.png"));
        } finally {
            array_map('unlink', glob("$directory/{,.}[!.]*", GLOB_BRACE));
            rmdir($directory);
        }
    },
    'answers are read only in part' => function () {
        thrown(UnexpectedResponse::class, fn () => client(scripted('endless'), maxRetries: 0)->call('GET', '/v1/usage'));
        thrown(UnexpectedResponse::class, fn () => client(scripted([200, ['content-type' => 'text/html'], '<h1>Sign in']))->pdf(['merge' => true]));
    },
    'files are sent as a form' => function () {
        client($url = scripted(CAPTURED))->capture(['full_page' => true], ['index.html' => '<h1>Hé', "css/a\".css" => 'h1 {}']);
        [$request] = requests($url);
        foreach (['{"full_page":true}', 'filename="css/a%22.css"', 'h1 {}', '<h1>Hé'] as $part) {
            same(true, str_contains($request['body'], $part));
        }
    },
    'arguments that allow no call are refused before it' => function () {
        $client = client($url = scripted([200, [], '{"data":{}}']));
        foreach ([
            fn () => $client->capture(URL, idempotencyKey: "a\nb"),
            fn () => $client->capture(['delay' => NAN]),
            fn () => $client->removeJob('..'),
            fn () => $client->job(''),
            fn () => $client->redeliver('job_1', "a\r\nb: c"),
            fn () => $client->approveRun('..', '..'),
            fn () => $client->call('POST', Stillframe::path('/v1/watches', '..') . '/run', []),
            fn () => $client->download('file:///etc/passwd'),
            fn () => new Stillframe('ftp://x', 'k'),
            fn () => new Stillframe('http://a@x', 'k'),
            fn () => new Stillframe('http://x/?', 'k'),
            fn () => new Stillframe('http://x', 'a b'),
            fn () => new Stillframe('http://x', 'k', NAN),
        ] as $call) {
            thrown(InvalidRequest::class, $call);
        }
        same([], requests($url));
    },
    'links are signed as the service signs them' => function () {
        $file = json_decode(file_get_contents(__DIR__ . '/../../../docs/render-links.json'), true);
        foreach ($file['vectors'] as $vector) {
            $pairs = array_map(fn ($pair) => array_map('urldecode', explode('=', $pair, 2)), explode('&', $vector['query']));
            same($vector['canonical'], Stillframe::canonicalQuery($pairs));
            same($vector['signature'], Stillframe::sign($file['secret'], $vector['canonical']));
        }
        $client = new Stillframe('https://shots.example.com/', 'k');
        $fields = ['url' => 'https://example.com/a b', 'full_page' => true, 'viewport' => ['width' => 800], 'hide_selectors' => ['.b', '.a'], 'clip' => null];
        $link = $client->signLink($fields, 'key_1', 's', 60);
        same(1, preg_match('~^https://shots\.example\.com/v1/render\?expires=([0-9]+)&full_page=true&hide_selectors=\.b&hide_selectors=\.a&key=key_1&url=https%3A%2F%2Fexample\.com%2Fa%20b&viewport\.width=800&signature=[0-9a-f]{64}$~D', $link, $match));
        same(true, abs((int) $match[1] - time() - 60) < 25);
        foreach (explode(' ', getenv('TEST_NO_LINK_FIELDS')) as $name) {
            thrown(InvalidRequest::class, fn () => $client->signLink([...$fields, $name => 'x'], 'key_1', 's', 60));
        }
        thrown(InvalidRequest::class, fn () => $client->signLink($fields, 'key_1', 's', 0));
        thrown(InvalidRequest::class, fn () => $client->signLink(['template' => 'card', 'data' => ['speakers' => [['name' => 'Ada']]]], 'key_1', 's', 60));
    },
    'only genuine webhooks are accepted' => function () {
        $body = '{"event":"capture.completed","text":"ünïcödé ✓"}';
        $at = 1_700_000_000;
        foreach ([[SECRET, $at], [['the new secret', SECRET], $at + 300], [SECRET, $at - 300]] as [$secret, $now]) {
            same('ünïcödé ✓', Stillframe::verifyWebhook($body, signature($body), $secret, now: $now)['text']);
        }
        foreach ([
            ["$body ", signature($body), SECRET, $at],
            [$body, signature($body), 'another', $at],
            [$body, signature($body), [], $at],
            [$body, signature($body, secret: ''), '', $at],
            [$body, signature($body) . "\n", SECRET, $at],
            [$body, str_replace('t=17', 't=18', signature($body)), SECRET, $at],
            [$body, '', SECRET, $at],
            [$body, signature($body), SECRET, $at + 301],
            [$body, signature($body), SECRET, $at - 301],
        ] as [$sent, $signature, $secret, $now]) {
            thrown(InvalidSignature::class, fn () => Stillframe::verifyWebhook($sent, $signature, $secret, now: $now));
        }
    },
    'the server captures, changes PDFs, signs and sends' => function () {
        $client = new Stillframe(getenv('STILLFRAME_URL'), getenv('STILLFRAME_KEY'));
        $site = getenv('TEST_SITE_URL');
        $small = ['viewport' => ['width' => 400, 'height' => 300, 'deviceScaleFactor' => 1], 'format' => 'png', 'cache_ttl' => 0];
        $picture = $client->capture(['url' => $site] + $small);
        $content = $client->download($picture['cdn_url']);
        same([400, 300, strlen($content), "\x89PNG"], [$picture['width'], $picture['height'], $picture['bytes'], substr($content, 0, 4)]);
        $id = $picture['job_id'];
        same(true, $client->compare(['before' => $id, 'after' => $id])['same']);
        same('completed', $client->job($id)['state']);
        same(true, in_array($id, array_column(iterator_to_array($client->eachJob(['limit' => 2]), false), 'id'), true));
        same(['id' => $id, 'removed' => true, 'canceled' => false], $client->removeJob($id));
        same(404, thrown(InvalidRequest::class, fn () => $client->job($id))->status);

        $pdf = $client->download($client->capture(['format' => 'pdf'], ['index.html' => '<link rel=stylesheet href=a.css><h1>Hello', 'a.css' => ''])['cdn_url']);
        $made = $client->pdf(['merge' => true], ['a.pdf' => $pdf, 'b.pdf' => $pdf]);
        same(['application/pdf', 2, '%PDF-'], [$made['type'], $made['pages'], substr($made['content'], 0, 5)]);

        $receiver = stream_socket_server('tcp://127.0.0.1:' . getenv('TEST_RECEIVER_PORT'));
        $webhook = ['url' => 'http://127.0.0.1:' . getenv('TEST_RECEIVER_PORT') . '/', 'secret' => SECRET];
        $key = bin2hex(random_bytes(8));
        $job = $client->submit(['url' => $site, 'webhook' => $webhook, 'fail_if_content_missing' => ['Goodbye']] + $small, idempotencyKey: $key);
        same($job, thrown(CaptureFailed::class, fn () => $client->wait($job))->jobId);
        $connection = stream_socket_accept($receiver, 120);
        $headers = '';
        while (!str_ends_with($headers, "\r\n\r\n")) {
            $headers .= fgets($connection);
        }
        preg_match('/^content-length: *([0-9]+)/im', $headers, $length);
        preg_match('/^x-service-signature: *(\S+)/im', $headers, $signature);
        $event = Stillframe::verifyWebhook(stream_get_contents($connection, (int) $length[1]), $signature[1], SECRET);
        fwrite($connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        same(['capture.failed', $job, 'render_incomplete'], [$event['event'], $event['job_id'], $event['error']['code']]);
        same([$job, '"'], [$client->jobByKey($key)['id'], $client->delivery($job)['etag'][0]]);

        $link = $client->signLink(['url' => $site, 'hide_selectors' => ['h2', '.a > b']] + $small, getenv('TEST_KEY_ID'), getenv('TEST_SIGNING_SECRET'), 60);
        same("\x89PNG", substr($client->download($link), 0, 4));

        $card = ['index.html' => '<h1>{{title}}', 'template.json' => '{"parameters":{"title":{"type":"text"}}}'];
        same(1, $client->pushTemplate('php-card', $card)['version']);
        same(true, $client->capture(['template' => 'php-card', 'data' => ['title' => 'Hello']])['bytes'] > 0);
        same([true, 'php-card'], [in_array('php-card', array_column($client->templates(), 'name'), true), $client->template('php-card@1')['name']]);
        $client->deleteTemplate('php-card');

        $watch = $client->createWatch(['name' => 'Prices', 'request' => ['url' => $site], 'schedule' => ['cron' => '@daily']])['id'];
        same(true, $client->changeWatch($watch, ['paused' => true])['paused']);
        $run = $client->runWatch($watch)['id'];
        same([$watch, [$run]], [$client->run($watch, $run)['watch_id'], array_column($client->runs($watch)['runs'], 'id')]);
        same([true, 'Prices'], [in_array($watch, array_column($client->watches(['limit' => 100])['watches'], 'id'), true), $client->watch($watch)['name']]);
        $client->removeWatch($watch);

        $batch = $client->waitForBatch($client->submitBatch(['requests' => [['html' => '<h1>Hello'] + $small]])['id']);
        same([1, 1], [$batch['counts']['completed'], count($client->batch($batch['id'], ['limit' => 5])['captures'])]);
        $file = tempnam(sys_get_temp_dir(), 'stillframe-php-');
        $client->batchPicturesTo($batch['id'], $file);
        same('PK', file_get_contents($file, length: 2));
        unlink($file);
        $client->removeBatch($batch['id']);
        same(['default', true], [$client->usage()['account'], $client->health()['ready']]);
    },
];

foreach ($tests as $name => $test) {
    try {
        $test();
    } catch (Throwable $error) {
        echo "Failed: $name\n$error\n";
        exit(1);
    }
}
echo count($tests) . " tests passed with $passed checks\n";
