"""A client of LTI's Assignment and Grade Services: columns of marks, and scores.

Authlib obtains an access token with the client credentials grant of OAuth 2, in which a
signed JWT identifies the client; urllib3 retries temporary failures. The token is only
ever sent to the address in the settings.

Source:
    1EdTech, "LTI Assignment and Grade Services 2.0"; "Security Framework 1.0", section
    4.1.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from autograder.handback.lti_errors import (
    TIMEOUT,
    Refused,
    ScoreFailed,
    ScoreNotNewer,
    ScoreRefused,
    json_of,
    one_line,
    quoted,
    require_done,
    require_token,
    said,
)
from autograder.handback.lti_settings import Platform, private_key, why_unsafe

SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/"
LINE_ITEM = "application/vnd.ims.lis.v2.lineitem+json"
LINE_ITEMS = "application/vnd.ims.lis.v2.lineitemcontainer+json"
SCORE = "application/vnd.ims.lis.v1.score+json"
TAG = "attention-from-scratch"  # of columns that we made

TRIES_AGAIN = 5
BACKOFF = 1.0  # seconds before the second try; then it doubles
LONGEST_PAUSE = 60  # seconds, also if the platform asks for more
TRIES_AGAIN_UNHEARD = 1  # without an answer, each try takes the whole timeout
MAX_PAGES = 100  # of the list of columns


@dataclass(frozen=True)
class LineItem:
    """A column of marks.

    Attributes:
        url: its address, which is its id.
        label: what people call it.
        resource: what its maker calls what is marked.
        tag: what its maker calls marks of this kind.
    """

    url: str
    label: str
    resource: str = ""
    tag: str = ""

    @property
    def scores_url(self) -> str:
        """Where scores are posted: the path goes on, and a query stays behind it."""
        parts = urlsplit(self.url)
        return parts._replace(path=f"{parts.path.rstrip('/')}/scores").geturl()


class GradeServices:
    """The services of one course on a platform. Use as a context manager.

    Args:
        platform: where it is, and who we are there.
        create: whether a column may have to be made.

    Raises:
        BadSettings: the key cannot be used.
        Refused: no token was issued.
    """

    def __init__(self, platform: Platform, create: bool = False) -> None:
        self._platform = platform
        key = private_key(platform.key_file)
        kinds = "lineitem" if create else "lineitem.readonly"
        self._session = OAuth2Session(
            platform.client_id,
            key,
            token_endpoint_auth_method=PrivateKeyJWT.name,
            token_endpoint=platform.token_url,
            grant_type="client_credentials",
            scope=f"{SCOPE}{kinds} {SCOPE}score",
            default_timeout=TIMEOUT,
        )
        named = {"kid": platform.key_id or key.thumbprint()}
        self._session.register_client_auth_method(
            PrivateKeyJWT(platform.audience, headers=named)
        )
        for kind in ("access_token_response", "refresh_token_response"):
            self._session.register_compliance_hook(kind, self._token_that_fits)
        self._session.max_redirects = 0  # neither token nor assertion goes elsewhere
        again = Retry(
            TRIES_AGAIN,
            read=TRIES_AGAIN_UNHEARD,
            redirect=0,
            allowed_methods=("GET", "POST"),  # at worst, a score is called not newer
            status_forcelist=(429, 500, 502, 503, 504),
            backoff_factor=BACKOFF,
            backoff_max=LONGEST_PAUSE,
            retry_after_max=LONGEST_PAUSE,
            raise_on_redirect=False,
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=again))
        try:
            self._get_token()
        except BaseException:
            self._session.close()
            raise

    def __enter__(self) -> GradeServices:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.close()

    def _get_token(self) -> None:
        url = self._platform.token_url
        with one_line(url):
            token = self._session.fetch_token()
        granted = token.get("scope")
        if isinstance(granted, str) and f"{SCOPE}score" not in granted.split():
            raise Refused(
                f"{url} does not let client {self._platform.client_id} publish scores: "
                f"allow it the scope {SCOPE}score there"
            )

    def _token_that_fits(self, response: requests.Response) -> requests.Response:
        """A hook of Authlib, which asks for a token again when one has run out."""
        require_token(response, self._platform)
        return response

    def _granted(self, ask: Callable[[], requests.Response]) -> requests.Response:
        """The answer to a request; with a new token if the platform ended this one.

        It may do so at any time, whatever it said about how long a token is good for.
        """
        response = ask()
        if response.status_code == 401:
            self._get_token()
            response = ask()
        return response

    def line_items(self) -> list[LineItem]:
        """All columns of the course that this client can see.

        Raises:
            Refused: the list could not be had.
        """
        found: list[LineItem] = []
        url = self._platform.line_items_url
        for _ in range(MAX_PAGES):
            with one_line(url):
                response = self._granted(
                    partial(self._session.get, url, headers={"Accept": LINE_ITEMS})
                )
            require_done(response, url)
            entries = json_of(response)
            if not isinstance(entries, list):
                raise Refused(f"{url} answered with no list of columns")
            found += [self._line_item(entry, url, response) for entry in entries]
            after = response.links.get("next", {}).get("url")
            if not after:
                return found
            url = self._at_same_place(url, after, response)
        raise Refused(f"the list of columns has more than {MAX_PAGES} pages")

    def create(self, chapter: str, label: str, max_score: float) -> LineItem:
        """Make the column of a chapter.

        After an error that does not say whether there is one now, it is not asked for
        again: the next run looks first.

        Raises:
            Refused: it was not made.
        """
        url = self._platform.line_items_url
        body = {
            "scoreMaximum": max_score,
            "label": label,
            "resourceId": chapter,
            "tag": TAG,
        }
        with one_line(url):
            response = self._granted(
                lambda: requests.post(
                    url,
                    json=body,
                    headers={"Content-Type": LINE_ITEM, "Accept": LINE_ITEM},
                    auth=self._session.token_auth,
                    timeout=TIMEOUT,
                    allow_redirects=False,
                )
            )
        require_done(response, url)
        return self._line_item(json_of(response), url, response)

    def publish(
        self, line_item: LineItem, user: str, score: float | None, of: float, when: str
    ) -> None:
        """Publish what a user has; without a score, the one before is withdrawn.

        Args:
            line_item: the column.
            user: the platform's id of the person.
            score: points, or None.
            of: points that can be had.
            when: the time of this score, in ISO 8601 with parts of seconds.

        Raises:
            ScoreNotNewer: it has one that is not older, perhaps this one.
            ScoreRefused: it does not take this one.
            ScoreFailed: it fails at this one, however often it is asked.
            Refused: it takes none, or cannot be reached.
        """
        body: dict[str, Any] = {"userId": user, "timestamp": when}
        if score is None:
            body |= {"activityProgress": "Initialized", "gradingProgress": "NotReady"}
        else:
            body |= {"scoreGiven": score, "scoreMaximum": of}
            body |= {"activityProgress": "Completed", "gradingProgress": "FullyGraded"}
        url = line_item.scores_url
        with one_line(url):
            response = self._granted(
                partial(
                    self._session.post, url, json=body, headers={"Content-Type": SCORE}
                )
            )
        if response.status_code == 409:
            raise ScoreNotNewer(said(response))
        if response.status_code in (400, 404, 422):
            raise ScoreRefused(said(response))
        if response.status_code >= 500:
            raise ScoreFailed(f"{url} answered {said(response)}")
        require_done(response, url)
        if response.text.lstrip().startswith("<"):
            raise Refused(
                f"{url} answered with a page for people, as a login page is, and not "
                "that it took the score: look whether line_items_url is the platform's"
            )

    def _line_item(self, data: Any, url: str, response: requests.Response) -> LineItem:
        """What we use of a line item that an address answered with."""
        if not isinstance(data, dict) or not isinstance(data.get("id"), str):
            raise Refused(f"{url} answered with a column that has no id")
        itself = self._at_same_place(url, data["id"], response)
        texts = [data.get(name) for name in ("label", "resourceId", "tag")]
        return LineItem(itself, *(t if isinstance(t, str) else "" for t in texts))

    def _at_same_place(
        self, base: str, reference: str, response: requests.Response
    ) -> str:
        """What an address answered to go on with; the token goes to our host only.

        Raises:
            Refused: the platform names another host, or what is no address.
        """
        ours = urlsplit(self._platform.line_items_url)
        with contextlib.suppress(ValueError):  # it is no address, as http://[::1
            url = urljoin(base, reference)
            if not why_unsafe(url) and ours[:2] == urlsplit(url)[:2]:
                return url
        raise Refused(
            f"the platform says to go on at {quoted(reference, response)}, which is "
            f"not where line_items_url is ({ours.scheme}://{ours.netloc})"
        )
